/** How long after a landing has ended its need may still be on its way, in milliseconds. */
const LATE_MS = 2_000;

/** The sessions whose landing this window follows: what becomes of one is told once, by who follows it. */
export class Landings {
  readonly #followed = new Map<string, number>();

  /** Gives what is to be called when the landing has ended. */
  follow(session: string): () => void {
    this.#count(session, 1);
    return () => void setTimeout(() => this.#count(session, -1), LATE_MS);
  }

  isFollowed(session: string): boolean {
    return this.#followed.has(session);
  }

  #count(session: string, change: number): void {
    const count = (this.#followed.get(session) ?? 0) + change;
    if (count > 0) this.#followed.set(session, count);
    else this.#followed.delete(session);
  }
}
