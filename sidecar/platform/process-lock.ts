import { DatabaseSync } from 'node:sqlite';
import { BUSY, resultCode, storeError } from './sqlite-error.ts';

/** A lock that nobody refers to would be closed, and so released, by the garbage collector. */
const held = new Set<DatabaseSync>();

/** Held until the process ends, however it ends. */
export interface ProcessLock {
  release(): void;
}

/**
 * Takes the lock that `file` stands for, or gives undefined when another process has it.
 * The lock is SQLite's own file lock: the kernel drops it with the process, so there is no stale one to steal.
 * @throws FairleadError `home.read-only`, `disk.full`
 */
export function takeProcessLock(file: string): ProcessLock | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: 0 });
    database.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    if (resultCode(error) === BUSY) return undefined;
    throw storeError(file, error);
  }
  const taken = database;
  held.add(taken);
  return {
    release() {
      if (held.delete(taken)) taken.close();
    },
  };
}
