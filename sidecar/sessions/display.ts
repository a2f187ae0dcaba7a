import type { DisplayState, Facts, Session } from '../protocol/session.ts';

/** The one word that people see, by the precedence of the facts. Pure; never stored. */
export function display(facts: Facts): DisplayState {
  if (facts.life === 'archived' || facts.life === 'paused') return facts.life;
  // Before `starting`: what waits for the person's word would start for ever.
  if (facts.agent === 'needs-you') return 'needs-you';
  if (facts.life === 'starting') return 'starting';
  if (facts.landing === 'resolving') return 'resolving';
  if (facts.agent === 'working') return 'working';
  if (facts.landing !== 'none') return facts.landing;
  if (facts.agent === 'finished') return 'finished';
  if (facts.agent === 'idle' && facts.life === 'active') return 'idle';
  return 'sleeping';
}

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
