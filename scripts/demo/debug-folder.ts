import { existsSync, mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { makeDemoRepository } from './repository.ts';

/** The repository that a window with the extension under a debugger opens; made once. */
const folder = resolve(import.meta.dirname, '../../test/.output/debug/repository');
if (!existsSync(folder)) {
  mkdirSync(folder, { recursive: true });
  makeDemoRepository(folder);
}
