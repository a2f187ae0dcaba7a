/** The newest of what was found out, by a key; the oldest goes when there is too much. */
export class Remembered<Value> {
  readonly #known = new Map<string, Value>();
  readonly #limit: number;

  constructor(limit = 100) {
    this.#limit = limit;
  }

  get(key: string): Value | undefined {
    return this.#known.get(key);
  }

  /** As the newest, whatever it was before. */
  set(key: string, value: Value): void {
    this.#known.delete(key);
    this.#known.set(key, value);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= this.#limit) break;
      this.#known.delete(oldest);
    }
  }

  clear(): void {
    this.#known.clear();
  }
}
