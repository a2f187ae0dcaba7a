import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes `names`, one below the other, in a folder that is there. Never that folder itself: of a repository that was
 * moved or deleted nothing comes back.
 * @returns the innermost folder
 * @throws what the file system says; ENOENT when `root` is not there
 */
export function makeFoldersIn(root: string, ...names: string[]): string {
  let folder = root;
  for (const name of names) {
    folder = join(folder, name);
    try {
      mkdirSync(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  return folder;
}
