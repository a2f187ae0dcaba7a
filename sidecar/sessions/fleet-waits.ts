import type { WaitGoal } from '../protocol/protocol.ts';
import type { Session } from '../protocol/session.ts';

/** Whether a session has got where somebody waits for it to be; `pending`: prompts on their way to the agent. */
export function hasReached(session: Session, goal: WaitGoal, pending: number): boolean {
  switch (goal) {
    case 'turn':
      // What needs the person ends the waiting too: the turn cannot end without them.
      return session.state === 'needs-you' || (!isAwaited(session, pending) && !isUnderWay(session));
    case 'needs-you':
      return session.state === 'needs-you';
    case 'finished':
      return !isAwaited(session, pending) && session.facts.agent === 'finished';
    case 'landed':
      return session.queue === null;
  }
}

/** A prompt is on its way. Not to an agent that sleeps: it gets the prompt when somebody starts it again. */
function isAwaited(session: Session, pending: number): boolean {
  return pending > 0 && session.facts.life !== 'sleeping';
}

function isUnderWay(session: Session): boolean {
  return session.facts.agent === 'working' || session.state === 'starting';
}
