import type { Session } from '../../sidecar/protocol/session.ts';

/** Whether the agent of a session runs, or is on its way. */
export function hasAgent({ facts }: Pick<Session, 'facts'>): boolean {
  return facts.life === 'active' || facts.life === 'starting';
}
