import type { HookEvent } from '../agents/claude/hook-event.ts';
import type { SessionTable } from './table.ts';

/** What new events mean for the turns of a session. Applied in one transaction with keeping the events. */
export interface TurnChange {
  opened: boolean;
  closed: boolean;
}

/**
 * Opens and closes turns by what the agent's hooks tell, in their order. An event that was applied before changes
 * nothing. `prompts`: what was sent, by the name of the event that showed its arrival. Events of subagents do not count: their work is part of the turn.
 */
export function applyToTurns(
  table: SessionTable,
  session: string,
  events: readonly HookEvent[],
  prompts: ReadonlyMap<string, string>,
): TurnChange {
  const change: TurnChange = { opened: false, closed: false };
  for (const event of events) {
    if (event.agentId !== undefined) continue;
    switch (event.event) {
      case 'SessionStart':
        table.appendAgentSession(session, event.agentSessionId, event.at);
        break;
      case 'UserPromptSubmit':
        // A turn that is still open was steered: its end is the new one's beginning.
        closeOpenTurn(table, session, { outcome: 'done', answer: null, endedAt: event.at });
        table.openTurn({
          session,
          agent_session: event.agentSessionId,
          event: event.name,
          prompt: prompts.get(event.name) ?? event.prompt ?? '',
          started_at: Math.round(event.at),
        });
        change.opened = true;
        break;
      case 'Stop':
        // With background work the agent goes on by itself, and so does the turn.
        if ((event.backgroundTasks ?? 0) > 0) break;
        change.closed =
          closeOpenTurn(table, session, {
            outcome: 'done',
            answer: event.lastMessage ?? null,
            endedAt: event.at,
          }) || change.closed;
        break;
      case 'StopFailure':
        change.closed =
          closeOpenTurn(table, session, {
            outcome: 'failed',
            answer: event.lastMessage ?? event.message ?? event.error ?? null,
            endedAt: event.at,
          }) || change.closed;
        break;
      default:
        break;
    }
  }
  return change;
}

/** Closes the turn that is open; false when none is. `endedAt` in milliseconds since the epoch. */
export function closeOpenTurn(
  table: SessionTable,
  session: string,
  end: { outcome: 'done' | 'interrupted' | 'failed'; answer: string | null; endedAt: number },
): boolean {
  const last = table.turns(session).at(-1);
  if (last?.outcome !== 'open') return false;
  return table.closeTurn(session, last.n, { ...end, endedAt: Math.round(end.endedAt) });
}
