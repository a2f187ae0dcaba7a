import {
  closeSync,
  constants,
  fchmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, relative, sep } from 'node:path';
import { FairleadError } from '../protocol/errors.ts';

/**
 * Whether `folder` is a folder of its own below `gitDir`: neither it nor what stands above it, up to `gitDir`, is a
 * link. An agent can write to its git directory; a link there would have us read, write and remove elsewhere. False
 * when it is missing.
 */
export function isPrivateFolder(gitDir: string, folder: string): boolean {
  return chain(gitDir, folder).every((each) => kindOf(each) === 'folder');
}

/**
 * Makes `folder` below `gitDir`, with what is missing above it, for this user alone. A `gitDir` that is gone stays so.
 * @throws FairleadError `worktree.broken` when something else than a folder stands in the way, or `gitDir` is not there
 */
export function makePrivateFolder(gitDir: string, folder: string): void {
  if (kindOf(gitDir) === 'missing') {
    throw new FairleadError('worktree.broken', `${gitDir} is gone: the repository was moved or deleted.`, {
      hint: 'Move it back to its place, and everything goes on.',
      data: gitDir,
    });
  }
  for (const each of chain(gitDir, folder)) {
    if (kindOf(each) === 'missing') makeOne(each);
    if (kindOf(each) === 'folder') continue;
    throw new FairleadError('worktree.broken', `${each} is a link or a file where a folder of Fairlead is.`, {
      hint: 'See what put it there, then take it away; Fairlead does not write through it.',
      data: each,
    });
  }
}

/**
 * Writes a file below `gitDir` whole or not at all, following no link on the way, readable by this user alone.
 * @throws FairleadError `worktree.broken` as {@link makePrivateFolder}
 */
export function writePrivateFile(gitDir: string, file: string, content: string, mode: number): void {
  makePrivateFolder(gitDir, dirname(file));
  const draft = `${file}.${process.pid}`;
  // One of a process that died, or a link that lies in wait under this name: taken away itself, not what it points to.
  rmSync(draft, { force: true });
  const fd = openSync(
    draft,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    mode,
  );
  try {
    fchmodSync(fd, mode);
    writeFileSync(fd, content);
  } finally {
    closeSync(fd);
  }
  renameSync(draft, file);
}

/**
 * Removes files of a private folder by name. A link goes itself; folders stay, whatever is in them. Nothing happens
 * when the folder is no {@link isPrivateFolder private one}.
 */
export function removePrivateFiles(gitDir: string, folder: string, names: Iterable<string>): void {
  for (const name of names) {
    if (!isPrivateFolder(gitDir, folder)) return;
    try {
      unlinkSync(`${folder}/${name}`);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== 'ENOENT' && code !== 'EISDIR' && code !== 'EPERM') throw error;
    }
  }
}

function makeOne(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** `gitDir`, and each folder below it down to `folder`. */
function chain(gitDir: string, folder: string): string[] {
  const folders = [gitDir];
  for (const name of relative(gitDir, folder).split(sep)) {
    if (name !== '') folders.push(`${folders.at(-1)}${sep}${name}`);
  }
  return folders;
}

function kindOf(path: string): 'folder' | 'missing' | 'other' {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 'missing';
  return stat.isDirectory() ? 'folder' : 'other';
}
