import { FairleadError, messageOf } from '../protocol/errors.ts';
import { sleep } from './clock.ts';
import { type ProcessLock, takeProcessLock } from './process-lock.ts';

/** How often a lock that another process holds is tried again, in milliseconds. */
const RETRY_MS = 25;

/**
 * Runs `work` as the only process that holds the lock `file`, or ends with what `early` gives as soon as that is not
 * undefined: while another process starts a daemon, whoever waits looks whether it is there already.
 *
 * The lock goes with the process that holds it, however that ends, so there is no stale one to judge.
 */
export async function withSpawnLock<T>(
  file: string,
  early: () => Promise<T | undefined>,
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  for (;;) {
    const lock = take(file);
    if (lock !== undefined) {
      try {
        return await work();
      } finally {
        lock.release();
      }
    }
    const there = await early();
    if (there !== undefined) return there;
    await sleep(RETRY_MS, signal);
  }
}

function take(file: string): ProcessLock | undefined {
  try {
    return takeProcessLock(file);
  } catch (cause) {
    if (cause instanceof FairleadError) throw cause;
    throw new Error(`The lock ${file} cannot be taken: ${messageOf(cause)}`, { cause });
  }
}
