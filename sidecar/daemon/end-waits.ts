import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { QueueEntry } from '../protocol/entry.ts';
import { SidecarEnding } from '../protocol/protocol.ts';
import type { MergeQueue } from '../queue/merge-queue.ts';
import type { Client } from './client.ts';

/** How often it is looked what an end waits for, in milliseconds. */
const TELL_EVERY_MS = 250;

/**
 * Tells `asker`, if there is one, and the log what the end of the queue waits for, each time that changes, until the
 * function that is returned is called.
 */
export function tellWaits(
  queue: Pick<MergeQueue, 'underWay'>,
  asker: Client | undefined,
  { clock, log }: { clock: Clock; log: Log },
): () => void {
  let told = '';
  let cancel: () => void = () => {};
  const look = () => {
    const waitsFor = queue.underWay.map(waitOf);
    const now = JSON.stringify(waitsFor);
    if (now !== told && waitsFor.length > 0) {
      log.info('end waits', { for: waitsFor });
      asker?.notify(SidecarEnding, { waitsFor });
    }
    told = now;
    cancel = clock.after(TELL_EVERY_MS, look);
  };
  look();
  return () => cancel();
}

/** What the end of a landing's step means for whoever waits for it. */
function waitOf({ title, base, state, target, remote }: QueueEntry): string {
  switch (state) {
    case 'securing':
      return `the commit of "${title}", with the hooks of the repository`;
    case 'checking':
      return `the check of "${title}" to end`;
    case 'swapping':
      return target === 'remote'
        ? `the push of "${title}" to ${remote ?? 'the remote'}`
        : `"${title}" to land on ${base}`;
    default:
      return `the landing of "${title}" on ${base}`;
  }
}
