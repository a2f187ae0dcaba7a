import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const DIST = resolve(import.meta.dirname, '../../dist');

/** Copies of what ships that say they are another version. Disposing removes them. */
export class Bundles implements Disposable {
  readonly #root = mkdtempSync(join(tmpdir(), 'fairlead-bundles-'));

  /** The folder of a bundle that calls itself `version`, and where they are given, that `build` and protocol. */
  of(version: string, { build, protocol }: { build?: string; protocol?: number } = {}): string {
    const folder = join(this.#root, `${version}-${build}-${protocol}`);
    cpSync(DIST, folder, { recursive: true });
    for (const name of ['fairlead.js', 'sidecar.js', 'ptyhost.js']) {
      const file = join(folder, name);
      const replace = (pattern: RegExp, text: string) => {
        const before = readFileSync(file, 'utf8');
        if (!pattern.test(before)) throw new Error(`${name} has nothing that ${pattern} finds`);
        writeFileSync(file, before.replace(pattern, text));
      };
      replace(/\bversion:\s*"\d+\.\d+\.\d+",/, `version:"${version}",`);
      if (build !== undefined) replace(/\bid:\s*"[0-9a-f]{12}"/, `id:"${build}"`);
      if (protocol === undefined || name === 'ptyhost.js') continue;
      const versions = `PROTOCOL_VERSIONS={oldest:${protocol},newest:${protocol}}`;
      replace(/\bPROTOCOL_VERSIONS\s*=\s*\{[^}]*\}/, versions);
    }
    return folder;
  }

  [Symbol.dispose](): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}
