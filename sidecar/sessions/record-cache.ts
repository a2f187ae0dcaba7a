import type { Store } from '../platform/store.ts';

/** Rows as they were read, by their ids, until anything is written: a look reads the same ones again and again. */
export class RecordCache<T extends { readonly id: string }> {
  readonly #store: Pick<Store, 'version'>;
  readonly #records = new Map<string, T>();
  #version = -1;

  constructor(store: Pick<Store, 'version'>) {
    this.#store = store;
  }

  /** The row, by `read` when it is not known. It is frozen: many hold it. */
  get<Found extends T | undefined>(id: string, read: () => Found): T | Found {
    if (this.#version !== this.#store.version) {
      this.#version = this.#store.version;
      this.#records.clear();
    }
    const known = this.#records.get(id) ?? read();
    if (known !== undefined) this.#records.set(id, Object.freeze(known));
    return known;
  }
}
