import { FairleadError } from '../protocol/errors.ts';
import type { WaitGoal } from '../protocol/protocol.ts';
import type { Session } from '../protocol/session.ts';

export interface Awaited {
  /** Prompts on their way to the agent. */
  pending: number;
  /** How the session's last entry of the merge queue ended, in words; null when it never had one. */
  lastLanding: string | null;
}

/**
 * Whether a session has got where somebody waits for it to be.
 * @throws FairleadError `land.not-landed`: nothing is under way that could land it
 */
export function hasReached(session: Session, goal: WaitGoal, { pending, lastLanding }: Awaited): boolean {
  switch (goal) {
    case 'turn':
      // What needs the person ends the waiting too: the turn cannot end without them.
      return session.state === 'needs-you' || (!isAwaited(session, pending) && !isUnderWay(session));
    case 'needs-you':
      return session.state === 'needs-you';
    case 'finished':
      return !isAwaited(session, pending) && session.facts.agent === 'finished';
    case 'landed':
      if (session.queue === null && session.facts.landing !== 'landed') throw notLanded(session, lastLanding);
      return session.queue === null;
  }
}

function notLanded({ id }: Session, lastLanding: string | null): FairleadError {
  const why = lastLanding === null ? 'it was never queued' : lastLanding;
  return new FairleadError('land.not-landed', `${id} has not landed: ${why.replace(/\.$/, '')}.`, {
    hint: `Land it: fairlead land ${id}`,
  });
}

/** A prompt is on its way. Not to an agent that sleeps: it gets the prompt when somebody starts it again. */
function isAwaited(session: Session, pending: number): boolean {
  return pending > 0 && session.facts.life !== 'sleeping';
}

function isUnderWay(session: Session): boolean {
  return session.facts.agent === 'working' || session.state === 'starting';
}
