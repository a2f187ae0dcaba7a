import { isOfLanding } from '../../sidecar/protocol/landing.ts';
import type { Session } from '../../sidecar/protocol/session.ts';

/** Whether a turn runs, or waits for an answer. What a landing waits for is no turn. */
export function canInterrupt({ state, facts, reason }: Session): boolean {
  const asks = state === 'needs-you' && reason !== null && !isOfLanding(reason.kind);
  return facts.life !== 'sleeping' && (facts.agent === 'working' || asks);
}

/** Whether it is on its way to its base, and does not go on before the person has said how: to land again is one way. */
export function isHeldUp({ state, reason, queue }: Session): boolean {
  return queue !== null && state === 'needs-you' && reason !== null && isOfLanding(reason.kind);
}

/** Whether it can be landed: for the first time, or again. */
export function canLand(session: Session): boolean {
  return session.queue === null || isHeldUp(session);
}

/** Whether the agent of a session runs, or is on its way. */
export function hasAgent({ facts }: Pick<Session, 'facts'>): boolean {
  return facts.life === 'active' || facts.life === 'starting';
}
