import type * as protocol from '../protocol/protocol.ts';
import type { Session } from '../protocol/session.ts';
import type { CommandContext } from './context.ts';
import { nextSteps } from './next-steps.ts';
import { stateSentence } from './state-label.ts';

/** How the session is after what was done, and what the person can do when it needs them. */
export function tellState({ output }: CommandContext, session: Session): void {
  output.result(session, stateSentence);
  for (const step of nextSteps(session)) output.hint(step);
}

/** A request that takes a session and answers with it. */
type SessionRequest = typeof protocol.Interrupt;

/** What a command does that makes such a request and tells what has become of the session. */
export function simple(kind: SessionRequest) {
  return async (context: CommandContext, name: string): Promise<void> => {
    const sidecar = await context.sidecar();
    const session = await sidecar.request(kind, { session: name }, context.signal);
    tellState(context, session);
  };
}
