/** Runs pieces of work one after the other, each key on its own. A piece that fails does not stop the next. */
export class Serial {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Resolves or rejects as `work` does, once everything before it under this key has ended. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const result = before.then(work, work);
    const tail = result
      .catch(() => {})
      .then(() => {
        if (this.#tails.get(key) === tail) this.#tails.delete(key);
      });
    this.#tails.set(key, tail);
    return result;
  }
}
