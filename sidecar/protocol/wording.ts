import type { Session } from './session.ts';

/** `3m`, `2h`, `5d`: how long ago, in the largest unit that fits. */
export function age(since: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - since) / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** Dollars and cents; what is less than a cent, but not nothing, shows as `<$0.01`. */
export function dollars(usd: number): string {
  return usd > 0 && usd < 0.01 ? '<$0.01' : `$${usd.toFixed(2)}`;
}

/** `950`, `12.3k`, `4.5M`: a number of tokens in at most five characters below a billion. */
export function tokens(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 999_500) return `${(count / 1e3).toFixed(count < 99_950 ? 1 : 0)}k`;
  return `${(count / 1e6).toFixed(count < 99_950_000 ? 1 : 0)}M`;
}

/** The state as people read it: `needs you: permission`, `finished (interrupted)`, `sleeping (interrupted)`. */
export function stateWords(session: Pick<Session, 'state' | 'reason' | 'outcome'>): string {
  const { state, outcome } = session;
  if (state === 'needs-you') {
    return `needs you: ${session.reason?.dialog === true ? 'dialog' : (session.reason?.kind ?? 'unknown')}`;
  }
  const rests = state === 'finished' || state === 'sleeping';
  return rests && (outcome === 'interrupted' || outcome === 'failed') ? `${state} (${outcome})` : state;
}
