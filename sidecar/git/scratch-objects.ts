import { join } from 'node:path';
import { ScratchFolder } from '../platform/scratch-folder.ts';
import type { Repository } from './repository.ts';

/**
 * A throw-away object store on top of a repository: what is written with {@link env} can be read back with it, and
 * the repository stays as it is. Holds trial merges and comparisons with uncommitted work. Dispose it.
 */
export class ScratchObjects implements Disposable {
  readonly #folder: ScratchFolder;
  /** Variables for each git that writes or reads here. */
  readonly env: Readonly<Record<string, string>>;

  constructor(repository: Pick<Repository, 'commonDir'>, parent?: string) {
    this.#folder = new ScratchFolder(parent);
    this.env = {
      GIT_OBJECT_DIRECTORY: this.#folder.path,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(join(repository.commonDir, 'objects')),
    };
  }

  get folder(): string {
    return this.#folder.path;
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}

/** An entry of a list that is separated by colons. Source: git(1), `GIT_ALTERNATE_OBJECT_DIRECTORIES`. */
function quoted(path: string): string {
  if (!/[:"\n]/.test(path)) return path;
  return `"${path.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n')}"`;
}
