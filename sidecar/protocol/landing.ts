import type { EntryState, QueueEntry } from './entry.ts';
import type { ReasonKind } from './reason.ts';
import type { Session } from './session.ts';

const FINAL: readonly EntryState[] = ['landed', 'failed', 'cancelled', 'nothing-to-land'];
const NEEDS: readonly ReasonKind[] = ['conflict', 'check-failed', 'landing-stopped', 'base-refuses-pushes'];

/** Whether an entry of the merge queue never changes again. */
export function hasEnded(state: EntryState): boolean {
  return FINAL.includes(state);
}

/** Whether a need comes of a landing, and of nothing else: a sign-in, which a landing may need too, is none. */
export function isOfLanding(kind: ReasonKind): boolean {
  return NEEDS.includes(kind);
}

/**
 * What an entry waits for that only the person can give. `landing`: their word on how it lands. `agent`: something else
 * that its session needs, with which it goes on by itself. Undefined where it goes on without them. Pure.
 * @param queued the entry as the last Land answered it: one that is tried anew is not what it was
 */
export function waitsForPerson(
  entry: Pick<QueueEntry, 'state' | 'reason' | 'changedAt'>,
  session: Pick<Session, 'state' | 'reason'>,
  queued?: Pick<QueueEntry, 'state' | 'changedAt'>,
): 'landing' | 'agent' | undefined {
  if (entry.state === 'waiting') {
    if (queued?.state === 'waiting' && queued.changedAt === entry.changedAt) return undefined;
    // No need of the session, but only the person can take the file away.
    if (entry.reason === 'folder-in-the-way') return 'landing';
  } else if (entry.state !== 'handed-back') {
    return undefined;
  }
  if (session.state !== 'needs-you') return undefined;
  return session.reason !== null && isOfLanding(session.reason.kind) ? 'landing' : 'agent';
}
