import type { Store } from '../platform/store.ts';

/** Rows of one table as they were read, by their ids. Right as long as whoever writes a row drops it here. */
export class RecordCache<T extends { readonly id: string }> {
  readonly #store: Pick<Store, 'rollbacks'>;
  readonly #records = new Map<string, T>();
  #rollbacks = 0;

  constructor(store: Pick<Store, 'rollbacks'>) {
    this.#store = store;
  }

  /** The row, by `read` when it is not known. It is frozen: many hold it. */
  get<Found extends T | undefined>(id: string, read: () => Found): T | Found {
    // What was read in a transaction that was rolled back never was.
    if (this.#rollbacks !== this.#store.rollbacks) {
      this.#rollbacks = this.#store.rollbacks;
      this.#records.clear();
    }
    const known = this.#records.get(id) ?? read();
    if (known !== undefined) this.#records.set(id, Object.freeze(known));
    return known;
  }

  /** To be called with every write of the row. */
  drop(id: string): void {
    this.#records.delete(id);
  }
}
