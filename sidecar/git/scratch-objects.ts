import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Repository } from './repository.ts';

/** Deletes folders that were left by a process that died; they begin with this. */
export const SCRATCH_PREFIX = 'fairlead-objects-';

/**
 * A throw-away object store on top of a repository: what is written with {@link env} can be read back with it, and
 * the repository stays as it is. Holds trial merges and comparisons with uncommitted work. Dispose it.
 */
export class ScratchObjects implements Disposable {
  readonly folder: string;
  /** Variables for each git that writes or reads here. */
  readonly env: Readonly<Record<string, string>>;

  constructor(repository: Pick<Repository, 'commonDir'>, parent: string = tmpdir()) {
    this.folder = mkdtempSync(join(parent, SCRATCH_PREFIX));
    this.env = {
      GIT_OBJECT_DIRECTORY: this.folder,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(join(repository.commonDir, 'objects')),
    };
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** An entry of a list that is separated by colons. Source: git(1), `GIT_ALTERNATE_OBJECT_DIRECTORIES`. */
function quoted(path: string): string {
  if (!/[:"\n]/.test(path)) return path;
  return `"${path.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n')}"`;
}
