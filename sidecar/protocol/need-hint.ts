import type { Reason } from './reason.ts';
import type { LifeFact } from './session.ts';

/** What the person can do about a need that is met otherwise than by an answer to the agent, in a sentence. Pure. */
export function needHint(id: string, reason: Reason, life: LifeFact): string {
  switch (reason.kind) {
    case 'api-error':
      return `When that is over, let it go on: fairlead send ${id} "Go on"`;
    case 'agent-ended':
    case 'terminal-lost':
      return `Start it again, with its conversation: fairlead resume ${id}`;
    case 'start-failed':
      return `Put that right, then: fairlead resume ${id}`;
    case 'worktree-missing':
      return `Once it is there again all goes on by itself; to put it away: fairlead archive ${id}`;
    case 'prompt-undelivered':
      return life === 'sleeping'
        ? `Start it again, with its conversation: fairlead resume ${id}`
        : `See what stands in its terminal, then send it again: fairlead attach ${id}`;
    case 'conflict':
    case 'check-failed':
    case 'landing-stopped':
    case 'base-refuses-pushes':
      return `See what to do, then land again: fairlead show ${id}`;
    case 'login':
      return `Sign in, or answer, in its terminal: fairlead attach ${id}`;
    default:
      return `${reason.dialog === true ? 'Answer in' : 'Look at'} its terminal: fairlead attach ${id}`;
  }
}
