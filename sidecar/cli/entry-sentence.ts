import type { QueueEntry } from '../protocol/entry.ts';
import { entryStateWords } from '../protocol/wording.ts';
import { printable } from './output.ts';

/** How an entry of the merge queue stands, with the paths that it is about. */
export function entrySentence(entry: QueueEntry): string {
  const { state, base, remote, landed } = entry;
  const message = entry.message === null ? '' : printable(entry.message);
  switch (state) {
    case 'landed': {
      const where = remote === null ? base : `${remote}/${base}`;
      return `landed on ${where} as ${landed?.slice(0, 10)}.${message === '' ? '' : `\n${message}`}`;
    }
    case 'failed':
      return `failed: ${message}${pathLines(entry)}`;
    case 'waiting':
      return `waits: ${message}${pathLines(entry)}`;
    case 'handed-back':
      return `is handed back: ${message}${pathLines(entry)}`;
    case 'cancelled':
      return `was taken out of the queue.${message.replace(/^Taken out of the queue\.?/, '')}`;
    case 'nothing-to-land':
      return `has nothing to land: ${message}`;
    default:
      return `is ${entryStateWords(state)}${message === '' ? '.' : `: ${message}`}`;
  }
}

/** One a line; none that the message names already. */
function pathLines({ paths, message }: QueueEntry): string {
  return paths
    .filter((path) => !` ${message} `.replace(/[.,:;] /g, ' ').includes(` ${path} `))
    .map((path) => `\n  ${printable(path)}`)
    .join('');
}
