import { DatabaseSync } from 'node:sqlite';

/** A lock that nobody refers to would be closed, and so released, by the garbage collector. */
const held = new Set<DatabaseSync>();

/** Held until the process ends, however it ends. */
export interface ProcessLock {
  release(): void;
}

/**
 * Takes the lock that `file` stands for, or gives undefined when another process has it.
 * The lock is SQLite's own file lock: the kernel drops it with the process, so there is no stale one to steal.
 */
export function takeProcessLock(file: string): ProcessLock | undefined {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    held.add(database);
    return {
      release() {
        if (held.delete(database)) database.close();
      },
    };
  } catch (error) {
    database.close();
    const busy = error instanceof Error && 'errcode' in error && Number(error.errcode) === 5;
    if (busy) return undefined;
    throw error;
  }
}
