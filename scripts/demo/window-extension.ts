import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vsce } from '../vsce.mjs';

const SOURCE = join(import.meta.dirname, 'window-extension');

/**
 * Packages the extension that brings Fairlead's view to the front of the demo's window, which VS Code has no setting for.
 * @param folder where it is made
 * @returns path of the VSIX
 */
export function packageWindowExtension(folder: string): string {
  const stage = join(folder, 'window-extension');
  const file = join(folder, 'window-extension.vsix');
  cpSync(SOURCE, stage, { recursive: true });
  writeFileSync(join(stage, '.vscodeignore'), '.vscodeignore\n');
  vsce({
    node: process.execPath,
    stage,
    file,
    target: `${process.platform}-${process.arch}`,
    flags: ['--allow-missing-repository', '--skip-license'],
  });
  return file;
}
