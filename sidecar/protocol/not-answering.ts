import { FairleadError } from './errors.ts';

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
