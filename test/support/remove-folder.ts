import { existsSync, rmSync } from 'node:fs';

/** How often what others still write there is removed again. */
const TRIES = 100;
const PAUSE_MS = 20;

/**
 * Removes a folder that ending processes may still write to and remove from. Node's own recursive removal takes a file
 * that vanishes meanwhile for the end of its work, and leaves the rest without an error (seen with 24.21).
 */
export function removeFolder(folder: string): void {
  for (let tries = 0; existsSync(folder); tries += 1) {
    if (tries > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    if (tries === TRIES) throw new Error(`${folder} is always written to again`);
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (tries + 1 === TRIES) throw error;
    }
  }
}
