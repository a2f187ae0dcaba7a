import { copyFile, mkdtemp, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Git } from './git.ts';

/**
 * Runs `work` at the root of the checkout of `git` with a copy of its index in `GIT_INDEX_FILE`: whatever is staged
 * there, the index of the checkout stays untouched. `folder` is for more files of that time; all of it goes at the end.
 */
export async function withPrivateIndex<Result>(
  git: Git,
  work: (root: Git, env: Record<string, string>, folder: string) => Promise<Result>,
): Promise<Result> {
  const root = git.in(await git.text(['rev-parse', '--show-toplevel']));
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-index-'));
  try {
    const index = join(folder, 'index');
    await copyIndex(await root.text(['rev-parse', '--path-format=absolute', '--git-path', 'index']), index);
    return await work(root, { GIT_INDEX_FILE: index }, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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

/** A place for objects beside the repository: what is written there is never seen in it, and goes as a whole. */
export class ScratchObjects implements AsyncDisposable {
  readonly #folder: string;
  /** Under these variables git writes objects into the scratch and finds those of the repository too. */
  readonly environment: Readonly<Record<string, string>>;

  private constructor(folder: string, environment: Readonly<Record<string, string>>) {
    this.#folder = folder;
    this.environment = environment;
  }

  /** For the repository of `git`. */
  static async open(git: Git): Promise<ScratchObjects> {
    const objects = await git.text(['rev-parse', '--path-format=absolute', '--git-path', 'objects']);
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-objects-'));
    return new ScratchObjects(folder, {
      GIT_OBJECT_DIRECTORY: folder,
      // Quoted: a colon in the path would part it. Source: git(1), GIT_ALTERNATE_OBJECT_DIRECTORIES.
      GIT_ALTERNATE_OBJECT_DIRECTORIES: `"${objects.replace(/["\\]/g, '\\$&')}"`,
    });
  }

  /**
   * The tree of everything on disk in the checkout of `git` that is not ignored. Only in the scratch.
   * @throws FairleadError `git.failed`
   */
  async treeOnDisk(git: Git): Promise<string> {
    return withPrivateIndex(git, async (root, index) => {
      const env = { ...index, ...this.environment };
      const config = { 'core.splitIndex': 'false' };
      // What cannot be read is left out, as it is from every diff.
      await root.attempt(['add', '--all', '--sparse', '--ignore-errors', '--', '.'], { env, config });
      return root.text(['write-tree'], { env, config });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
