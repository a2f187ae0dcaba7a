/** The session that the person had to do with last: its row was chosen, or its terminal came to the front or was typed in. */
export class LastUsed {
  #session: string | undefined;

  get session(): string | undefined {
    return this.#session;
  }

  /** Undefined for a terminal that is of no session: none is meant then. */
  use(session: string | undefined): void {
    this.#session = session;
  }
}
