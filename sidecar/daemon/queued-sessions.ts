import type { QueuedSessions } from '../queue/context.ts';
import { gitOf, type SessionContext } from '../sessions/context.ts';
import type { Fleet } from '../sessions/fleet.ts';
import type { PromptRecord } from '../sessions/record.ts';

/** The prompts of the queue are not taken back by hand. */
const NEVER = new AbortController().signal;

/** The fleet as the queue sees it. */
export function queuedSessions(context: SessionContext, fleet: Fleet): QueuedSessions {
  const { table } = context;
  return {
    resolve: (name) => table.resolve(name),
    get: (id) => table.get(id),
    repository: (id) => table.repository(id),
    setLandTo: (repository, to) => table.setLandTo(repository, to),
    isInTurn: (id) => fleet.isInTurn(id),
    turnCount: (id) => table.turnCount(id),
    setLanding: (id, landing, demand) => fleet.setLanding(id, landing, demand),
    send: async (id, text, request, signal) => {
      await fleet.send(id, text, { signal, revoked: NEVER }, request);
    },
    promptState: (request) => promptState(table.promptOf(request)),
    lastTurn: (id) => table.lastOutcome(id),
    environment: (session) => table.environment(session.environment),
    git: (session, folder) => gitOf(context, table.environment(session.environment), folder),
  };
}

/** What has become of a prompt, for the queue. */
function promptState(prompt: PromptRecord | undefined): 'none' | 'open' | 'arrived' | 'lost' {
  switch (prompt?.state) {
    case undefined:
      return 'none';
    case 'waiting':
    case 'sent':
      return 'open';
    case 'confirmed':
      return 'arrived';
    case 'failed':
      return 'lost';
  }
}
