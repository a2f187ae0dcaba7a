/** The needs that the person has taken up in this window: each is known to them, however long its answer is on its way. */
export class NeedsInHand {
  readonly #needs = new Map<string, number | null>();

  take(session: string, need: number | null): void {
    this.#needs.set(session, need);
  }

  has(session: string, need: number | null): boolean {
    return need !== null && this.#needs.get(session) === need;
  }
}
