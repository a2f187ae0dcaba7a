import { isExit } from './delivery.ts';
import type { SessionTable } from './table.ts';

/** Clocks of agent and store may differ by so much, in milliseconds. */
const SKEW_MS = 1_000;

/**
 * What was on its way to an agent that has ended goes along when the session is started again: it is in no terminal any
 * more. To be called when everything is taken in that the agent left. A prompt after which a turn began stays as it is:
 * it may be that turn's.
 */
export function keepUnsentPrompts(table: SessionTable, session: string, now: number): void {
  const sent = table.openPrompts(session).filter(({ state }) => state === 'sent');
  if (sent.length === 0) return;
  const last = table.turns(session).at(-1);
  for (const { id, text, sent_at } of sent) {
    if (isExit(text)) table.updatePrompt(id, { state: 'confirmed', confirmed_at: now });
    else if (last === undefined || last.started_at < (sent_at ?? 0) - SKEW_MS) {
      table.updatePrompt(id, { state: 'waiting', tries: 0, sent_at: null });
    }
  }
}
