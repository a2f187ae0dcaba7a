import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import manifest from '../../../package.json' with { type: 'json' };

const FOLDER = resolve(import.meta.dirname, '../../../dist/vsix');

/** The package of this version for this machine, as `npm run package` makes it. */
export function vsix(): string {
  const { name, version } = manifest;
  const file = join(FOLDER, `${name}-${process.platform}-${process.arch}-${version}.vsix`);
  if (!existsSync(file)) throw new Error(`The extension is not packaged: npm run package makes ${file}`);
  return file;
}
