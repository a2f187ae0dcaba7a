import { DatabaseSync } from 'node:sqlite';

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
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    const busy = error instanceof Error && 'errcode' in error && Number(error.errcode) === 5;
    if (busy) return undefined;
    throw error;
  }
}
