import type { DisplayState, Session } from './session.ts';

/** What needs the person comes first. States that are not named come last, in no order among themselves. */
const RANK: Partial<Record<DisplayState, number>> = {
  'needs-you': 0,
  finished: 1,
  idle: 2,
  ready: 3,
  'in-review': 4,
  resolving: 5,
  working: 6,
  queued: 7,
  landing: 7,
  starting: 8,
};
const LAST = 9;

type Ordered = Pick<Session, 'state' | 'unread' | 'since' | 'id'>;

/**
 * Order of the fleet: what needs the person (oldest first), finished and not yet seen, then the rest by state;
 * within a state the most recent first. Total: ties are broken by id.
 */
export function fleetOrder(a: Ordered, b: Ordered): number {
  const byRank = rank(a) - rank(b);
  if (byRank !== 0) return byRank;
  const byTime = a.state === 'needs-you' ? a.since - b.since : b.since - a.since;
  return byTime !== 0 ? byTime : a.id < b.id ? -1 : Number(a.id > b.id);
}

function rank(session: Ordered): number {
  if (session.state === 'finished' && !session.unread) return LAST;
  return RANK[session.state] ?? LAST;
}
