import type { QueueEntry } from '../protocol/entry.ts';
import { FairleadError } from '../protocol/errors.ts';
import { hasEnded, waitsForPerson } from '../protocol/landing.ts';
import * as protocol from '../protocol/protocol.ts';
import type { Session } from '../protocol/session.ts';
import { entryStateWords } from '../protocol/wording.ts';
import type { CommandContext } from './context.ts';
import { entrySentence } from './entry-sentence.ts';
import { printable } from './output.ts';
import type { SidecarConnection } from './sidecar-connection.ts';

/** Where the waiting for a landing ended: it did, or it cannot go on without the person. */
export interface Settled {
  entry: QueueEntry;
  session: Session;
}

/**
 * Waits until an entry has ended or waits for the person, and says how it gets there.
 * @throws FairleadError `daemon.lost`, `cancelled`, `wait.timed-out`: it stays queued
 */
export async function untilSettled(
  context: CommandContext,
  sidecar: SidecarConnection,
  queued: QueueEntry,
  timeoutSeconds?: number,
): Promise<Settled> {
  const { promise, resolve, reject } = Promise.withResolvers<Settled>();
  const now: Partial<Settled> = {};
  let told = '';
  const look = (seen: Partial<Settled>) => {
    Object.assign(now, seen);
    const { entry, session } = now;
    if (entry === undefined || session === undefined) return;
    const state = entryStateWords(entry.state);
    const line = entry.message === null ? state : `${state}: ${printable(entry.message)}`;
    if (line !== told) context.output.note(line);
    told = line;
    // What its agent asks is the person's to see, too: nobody else tells them.
    const isPersons = waitsForPerson(entry, session, queued) !== undefined;
    if (hasEnded(entry.state) || isPersons) resolve({ entry, session });
  };
  const stays = { hint: staysQueued(queued) };
  const onAbort = () => reject(new FairleadError('cancelled', `${queued.session} is still queued.`, stays));
  if (context.signal.aborted) onAbort();
  context.signal.addEventListener('abort', onAbort, { once: true });
  const timer =
    timeoutSeconds === undefined
      ? undefined
      : setTimeout(() => {
          const how = `${queued.session} ${entrySentence(now.entry ?? queued)}`;
          reject(new FairleadError('wait.timed-out', `${timeoutSeconds} s have passed: ${how}`, stays));
        }, timeoutSeconds * 1_000);
  promise.catch(() => {});
  sidecar.onNotification(protocol.EntryChanged, (entry) => {
    if (entry.id === queued.id) look({ entry });
  });
  sidecar.onNotification(protocol.SessionChanged, (session) => {
    if (session.id === queued.session) look({ session });
  });
  try {
    await sidecar.request(protocol.FollowEvents, { after: Number.MAX_SAFE_INTEGER });
    // What happened before it was followed.
    const session = await sidecar.request(protocol.ShowSession, { session: queued.session });
    const entries = await sidecar.request(protocol.ListQueue, { ended: true });
    const entry = entries.find(({ id }) => id === queued.id);
    look({ session, ...(entry === undefined ? {} : { entry }) });
    const lost = sidecar.ended().then((): never => {
      throw new FairleadError('daemon.lost', 'The sidecar ended while the command ran.', {
        hint: 'It stays queued. See how it gets on: fairlead queue',
      });
    });
    return await Promise.race([promise, lost]);
  } finally {
    clearTimeout(timer);
    context.signal.removeEventListener('abort', onAbort);
  }
}

/** What is said when nobody waits for it any longer. */
function staysQueued({ session }: QueueEntry): string {
  return `It goes on without this command (fairlead queue shows how); to take it out: fairlead unqueue ${session}`;
}
