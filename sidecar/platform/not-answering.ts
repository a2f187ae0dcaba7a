import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { FairleadError } from '../protocol/errors.ts';

/** How long a daemon may take to answer what takes it no time, in milliseconds. */
export const ANSWER_WITHIN_MS = 10_000;

/** Who was stopped itself finds its time over before it has read the answer: so long it looks once more, in milliseconds. */
const ONCE_MORE_MS = 1_000;

/** Calls back after `ms` milliseconds in which this process could have read an answer. Gives what cancels it. */
export function afterSilence(ms: number, silent: () => void): () => void {
  let timer = setTimeout(() => {
    timer = setTimeout(silent, ONCE_MORE_MS);
  }, ms);
  return () => clearTimeout(timer);
}

/**
 * The error for a daemon that accepts connections and answers nothing: it was stopped, is swapped out, or hangs.
 * @param pid of the daemon; undefined when it is not known
 */
export function notAnswering(name: 'sidecar' | 'ptyhost', pid: number | undefined): FairleadError {
  const who = pid === undefined ? `The ${name}` : `The ${name} (pid ${pid})`;
  const id = pid ?? 'PID';
  const ends =
    name === 'sidecar'
      ? 'agents go on, and nothing that was decided is lost'
      : 'its terminals and agents end with it, their conversations are kept';
  return new FairleadError('daemon.not-answering', `${who} does not answer.`, {
    hint: `If it was stopped, let it go on: kill -CONT ${id}. To end it: kill -9 ${id} (${ends}).`,
    data: { name, pid: pid ?? null },
  });
}

/** The process that holds a `ProcessLock`; undefined when none does, or the system does not tell. Source: proc_locks(5). */
export function lockHolder(file: string): number | undefined {
  try {
    const { ino } = statSync(file);
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      const match = /\bWRITE\s+(\d+)\s+\w+:\w+:(\d+)\b/.exec(line);
      if (match === null || match[2] !== String(ino)) continue;
      const pid = Number(match[1]);
      // Numbers of files are unique on one file system only.
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dirname(dirname(file)))) return pid;
    }
  } catch {
    // Elsewhere than on Linux nobody tells; nor of a process that has just ended.
  }
  return undefined;
}
