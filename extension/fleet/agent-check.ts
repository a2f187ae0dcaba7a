import type { Connection } from '../connection/connection.ts';

/**
 * Whether the agent that sessions need is installed, as the sidecar's Doctor finds it. Asked once, until something says
 * that it may be otherwise by now; a question that failed was not asked.
 */
export class AgentCheck {
  readonly #connection: Pick<Connection, 'requestIfConnected'>;
  readonly #changed: () => void;
  #isMissing = false;
  #asking: Promise<void> | undefined;

  /** `changed` hears when {@link isMissing} has become another. */
  constructor(connection: Pick<Connection, 'requestIfConnected'>, changed: () => void) {
    this.#connection = connection;
    this.#changed = changed;
  }

  /** As far as is known. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  ask(): void {
    this.#asking ??= this.#ask();
  }

  /** To be called when it may have been installed: the next to ask gets a new answer. */
  forget(): void {
    this.#asking = undefined;
  }

  async #ask(): Promise<void> {
    try {
      const findings = await this.#connection.requestIfConnected('Doctor', { folder: null });
      if (findings === undefined) return this.forget();
      const isMissing = findings.some(({ check, state }) => check === 'claude' && state === 'problem');
      if (isMissing === this.#isMissing) return;
      this.#isMissing = isMissing;
      this.#changed();
    } catch {
      this.forget();
    }
  }
}
