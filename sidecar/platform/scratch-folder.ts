import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from './processes.ts';

const PREFIX = 'fairlead-scratch-';

/** A folder for the time of one piece of work, named after this process. Dispose it. */
export class ScratchFolder implements Disposable {
  readonly path: string;

  constructor(parent: string = tmpdir()) {
    this.path = mkdtempSync(join(parent, `${PREFIX}${process.pid}-`));
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Removes the folders of processes that died in the midst of their work. Another user's are left alone. */
export function clearScratchFolders(parent: string = tmpdir()): void {
  for (const name of readdirSync(parent)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const path = join(parent, name);
    const uid = statSync(path, { throwIfNoEntry: false })?.uid;
    if (uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
  }
}
