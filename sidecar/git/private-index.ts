import { copyFile, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { ScratchFolder } from '../platform/scratch-folder.ts';
import { type Git, gitFailure } from './git.ts';
import type { ScratchObjects } from './scratch-objects.ts';

/**
 * Runs `work` at the root of the checkout of `git` with a copy of its index in `GIT_INDEX_FILE`: whatever is staged
 * there, the index of the checkout stays untouched.
 */
export async function withPrivateIndex<Result>(
  git: Git,
  work: (root: Git, env: Record<string, string>) => Promise<Result>,
): Promise<Result> {
  const root = git.in(await git.text(['rev-parse', '--show-toplevel']));
  using folder = new ScratchFolder();
  const index = join(folder.path, 'index');
  await copyIndex(await root.text(['rev-parse', '--path-format=absolute', '--git-path', 'index']), index);
  return await work(root, { GIT_INDEX_FILE: index });
}

/** Under a later time, an entry that was written in the same tick as the index would count as unchanged. */
async function copyIndex(from: string, to: string): Promise<void> {
  try {
    const { mtimeMs } = await stat(from);
    await copyFile(from, to);
    const time = (Math.floor(mtimeMs) - 1) / 1000;
    await utimes(to, time, time);
  } catch (error) {
    // No index: nothing was ever staged in here.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Errors of `git add` for single files that may stay out: what cannot be read is left out of every diff. */
const UNREADABLE =
  /^(error: (open\(".*"\)|unable to index file ['"].*['"])|warning: could not open directory .*)/;

/**
 * The tree of everything on disk in the checkout of `git` that is not ignored, written into `objects`.
 * @throws FairleadError `git.failed`
 */
export async function treeOnDisk(git: Git, objects: ScratchObjects): Promise<string> {
  return withPrivateIndex(git, async (root, index) => {
    const options = { env: { ...index, ...objects.env }, config: { 'core.splitIndex': 'false' } };
    const args = ['add', '--all', '--sparse', '--ignore-errors', '--', '.'];
    const added = await root.attempt(args, options);
    const told = added.stderr.split('\n').filter((line) => /^(error|fatal|warning):/.test(line));
    if (added.exitCode !== 0 && !told.every((line) => UNREADABLE.test(line))) {
      throw gitFailure(root.folder, args, added);
    }
    return root.text(['write-tree'], options);
  });
}
