import type { Repository } from '../git/repository.ts';
import type { SessionRecord } from '../sessions/record.ts';
import { type Check, type CheckResult, runCheck } from './check.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord } from './entry-table.ts';
import { fails, type Outcome, RETRY_MS, waits } from './outcome.ts';
import { Remembered } from './remembered.ts';

interface MergedCheckRequest {
  entry: EntryRecord;
  session: SessionRecord;
  base: { commit: string };
  /** What is to land. */
  made: { commit: string; tree: string };
  signal: AbortSignal;
}

const DEFAULT_MINUTES = 30;

/**
 * The check on the merged tree, and when that is red on the base alone: only a red check on a green base is the
 * entry's own. What was found out is remembered, a yes of what is to land as well as a yes or no of its base, so that
 * an entry that waits for something else does not check the same again and again.
 */
export class MergedCheck {
  readonly #green = new Remembered<true>();
  readonly #bases = new Remembered<CheckResult>();
  readonly #waiting = new Remembered<Outcome>();

  /** Undefined when it may land. */
  async run(
    context: QueueContext,
    repository: Repository,
    request: MergedCheckRequest,
  ): Promise<Outcome | undefined> {
    const { entry, session, base, made, signal } = request;
    const command = entry.check_command;
    if (command === null) return undefined;
    const known = JSON.stringify([entry.id, base.commit, made.tree, command]);
    const before = this.#waiting.get(known);
    if (before !== undefined) return before;
    const { commonDir } = repository;
    const green = JSON.stringify([commonDir, base.commit, made.tree, command, session.environment]);
    if (this.#green.get(green) === true) return undefined;

    const config = context.configFor(context.sessions.repository(session.repository).main);
    const check: Omit<Check, 'commit' | 'name'> = {
      command,
      environment: context.sessions.environment(session),
      copy: config.worktree.copy,
      timeoutMs: (config.land.checkMinutes ?? DEFAULT_MINUTES) * 60_000,
    };
    const merged = await runCheck(
      context,
      repository,
      { ...check, commit: made.commit, name: entry.id },
      signal,
    );
    if (merged.kind === 'green') {
      this.#green.set(green, true);
      return undefined;
    }
    if (merged.kind !== 'red') return undecided(merged);
    const alone = await this.#runOnBase(
      context,
      repository,
      { ...check, commit: base.commit, name: `base-${entry.id}` },
      signal,
    );
    if (alone.kind === 'green') return fails('red-check', merged.message, { isTry: true });
    if (alone.kind !== 'red') return undecided(alone);
    const message = `${entry.base} itself is red: ${alone.message} It is checked again once ${entry.base} has moved.`;
    const outcome = waits('base-red', message, RETRY_MS.infrastructure, { demand: 'landing-stopped' });
    this.#waiting.set(known, outcome);
    return outcome;
  }

  /** The person lands again: a check that was red for no good reason gets another chance. */
  forget(): void {
    this.#bases.clear();
    this.#waiting.clear();
  }

  async #runOnBase(
    context: QueueContext,
    repository: Repository,
    check: Check,
    signal: AbortSignal,
  ): Promise<CheckResult> {
    const key = JSON.stringify([repository.commonDir, check.commit, check.command]);
    const known = this.#bases.get(key);
    if (known !== undefined) return known;
    const result = await runCheck(context, repository, check, signal);
    if (result.kind === 'green' || result.kind === 'red') this.#bases.set(key, result);
    return result;
  }
}

/** A check that could not run is the person's to mend; trying at once again would only cost time. */
function undecided(result: Extract<CheckResult, { kind: 'infrastructure' | 'cancelled' }>): Outcome {
  return result.kind === 'cancelled'
    ? { kind: 'cancelled' }
    : waits('infrastructure', result.message, RETRY_MS.refused, { demand: 'check-failed' });
}
