import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const DIST = resolve(import.meta.dirname, '../../dist');

/** Copies of what ships that say they are another version. Disposing removes them. */
export class Bundles implements Disposable {
  readonly #root = mkdtempSync(join(tmpdir(), 'fairlead-bundles-'));

  /** The folder of a bundle that calls itself `version`. */
  of(version: string): string {
    const folder = join(this.#root, version);
    cpSync(DIST, folder, { recursive: true });
    for (const name of ['fairlead.js', 'sidecar.js', 'ptyhost.js']) {
      const file = join(folder, name);
      const text = readFileSync(file, 'utf8');
      const patched = text.replace(/\b(version: ?)"\d+\.\d+\.\d+",/, `$1"${version}",`);
      if (patched === text) throw new Error(`${name} has no version to replace`);
      writeFileSync(file, patched);
    }
    return folder;
  }

  [Symbol.dispose](): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}
