import { statSync } from 'node:fs';
import type { Clock } from '../platform/clock.ts';

/** How often it is looked whether the home is still there, in milliseconds. */
const LOOK_MS = 2_000;

/**
 * Tells when files that make a process the one that serves a home are gone, or are others: somebody has removed the
 * home, and another process may serve what is in its place by now.
 */
export class HomeWatch {
  readonly #files: ReadonlyMap<string, string | undefined>;
  readonly #clock: Clock;
  readonly #lost: () => void;
  #cancel: (() => void) | undefined;

  /** `lost` is called once. The files are there. */
  constructor(files: readonly string[], clock: Clock, lost: () => void) {
    this.#files = new Map(files.map((file) => [file, fileId(file)]));
    this.#clock = clock;
    this.#lost = lost;
  }

  get isOurs(): boolean {
    return [...this.#files].every(([file, id]) => fileId(file) === id);
  }

  start(): void {
    this.#cancel = this.#clock.after(LOOK_MS, () => {
      if (this.isOurs) this.start();
      else this.#lost();
    });
  }

  stop(): void {
    this.#cancel?.();
  }
}

function fileId(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`;
}
