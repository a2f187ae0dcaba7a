import type { Repository } from '../git/repository.ts';
import { type Check, type CheckResult, runCheck } from './check.ts';
import type { QueueContext } from './context.ts';

/** The check on a base alone: run once a base and command, as long as its answer was a yes or a no. */
export class BaseCheck {
  readonly #known = new Map<string, CheckResult>();

  async run(
    context: QueueContext,
    repository: Repository,
    check: Check,
    signal: AbortSignal,
  ): Promise<CheckResult> {
    const key = `${repository.commonDir}\0${check.commit}\0${check.command}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const result = await runCheck(context, repository, check, signal);
    if (result.kind === 'green' || result.kind === 'red') this.#known.set(key, result);
    return result;
  }
}
