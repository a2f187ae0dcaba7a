import { constants } from 'node:fs';
import { lstat, open, readlink, realpath } from 'node:fs/promises';
import { dirname, sep } from 'node:path';
import { pathOnDisk } from '../git/names.ts';
import { Objects } from '../git/objects.ts';
import { FairleadError } from '../protocol/errors.ts';
import { gitOf, type SessionContext } from './context.ts';
import type { SessionRecord } from './record.ts';

/** Largest file that is shown, in bytes. */
export const MAX_SHOWN_BYTES = 50 * 1024 * 1024;

/** Time after which git processes that nobody asked are ended, in milliseconds. */
const IDLE_MS = 30_000;

/**
 * Files of sessions, at a commit or as they are in the worktree. One git is kept open for each repository while files
 * are asked for.
 */
export class SessionContents implements Disposable {
  readonly #context: SessionContext;
  readonly #open = new Map<string, { objects: Objects; cancel: () => void }>();

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /**
   * The bytes of a file; null when there is none at `path`. A symbolic link is its target, as in git.
   * @param path below the worktree's root, with slashes
   * @throws FairleadError `params.invalid` (a path that leads out of the worktree, a file that is too large)
   */
  async read(record: SessionRecord, path: string, commit: string | undefined): Promise<Buffer | null> {
    if (commit !== undefined) return this.#readAt(record, `${commit}:${path}`);
    if (record.life === 'archived' || record.git_dir === null) return null;
    return readOnDisk(record.worktree, path);
  }

  async #readAt(record: SessionRecord, name: string): Promise<Buffer | null> {
    const found = await this.#objectsOf(record).read(name, MAX_SHOWN_BYTES);
    return found?.type === 'blob' ? found.content : null;
  }

  #objectsOf({ repository, environment }: SessionRecord): Objects {
    const { table, clock } = this.#context;
    const known = this.#open.get(repository);
    known?.cancel();
    const { main } = table.repository(repository);
    const objects = known?.objects ?? new Objects(gitOf(this.#context, table.environment(environment), main));
    const cancel = clock.after(IDLE_MS, () => {
      this.#open.delete(repository);
      objects[Symbol.dispose]();
    });
    this.#open.set(repository, { objects, cancel });
    return objects;
  }

  [Symbol.dispose](): void {
    for (const { objects, cancel } of this.#open.values()) {
      cancel();
      objects[Symbol.dispose]();
    }
    this.#open.clear();
  }
}

async function readOnDisk(worktree: string, path: string): Promise<Buffer | null> {
  const file = pathOnDisk(worktree, path);
  try {
    // The folder may lie behind a link that the agent made; the file itself is not followed. Bytes, as names need be no text.
    const folder = await realpath(pathOnDisk(worktree, dirname(path)), 'latin1');
    const root = await realpath(worktree, 'latin1');
    if (folder !== root && !folder.startsWith(root + sep)) throw outside(path);
    const stat = await lstat(file);
    if (stat.isSymbolicLink()) return await readlink(file, { encoding: 'buffer' });
    if (!stat.isFile()) return null;
    if (stat.size > MAX_SHOWN_BYTES) throw tooLarge(path);
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return await handle.readFile();
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}

function outside(path: string): FairleadError {
  return new FairleadError('params.invalid', `${path} leads out of the worktree.`, {
    hint: 'Name a file of the session.',
  });
}

function tooLarge(path: string): FairleadError {
  return new FairleadError('params.invalid', `${path} is too large to be shown.`, {
    hint: 'Open it from the worktree.',
  });
}
