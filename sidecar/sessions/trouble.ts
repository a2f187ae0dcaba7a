import type { Log } from '../platform/log.ts';
import { messageOf } from '../protocol/errors.ts';

/** Tells the log of what goes wrong again and again once: when it begins, when its reason changes. */
export class Trouble {
  readonly #log: Pick<Log, 'warn'>;
  readonly #session: string;
  readonly #told = new Map<string, string>();

  constructor(log: Pick<Log, 'warn'>, session: string) {
    this.#log = log;
    this.#session = session;
  }

  tell(event: string, error: unknown): void {
    const why = messageOf(error);
    if (this.#told.get(event) === why) return;
    this.#told.set(event, why);
    this.#log.warn(event, { session: this.#session, error: why });
  }

  isOver(event: string): void {
    this.#told.delete(event);
  }

  /** What `work` gives, or `otherwise` where it throws. */
  within<T>(event: string, otherwise: T, work: () => T): T {
    try {
      const result = work();
      this.isOver(event);
      return result;
    } catch (error) {
      this.tell(event, error);
      return otherwise;
    }
  }
}
