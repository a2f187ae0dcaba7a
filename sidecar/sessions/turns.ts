import type { HookEvent } from '../agents/claude/hook-event.ts';
import type { SaidPrompt } from '../agents/claude/said-prompt.ts';
import type { TurnRecord } from './record.ts';
import type { SessionTable } from './table.ts';

/** What new events mean for the turns of a session. Applied in one transaction with keeping the events. */
export interface TurnChange {
  opened: boolean;
  closed: boolean;
}

export interface TurnSources {
  /** What was sent, by the name of the event that showed its arrival. */
  arrived: ReadonlyMap<string, string>;
  /** Prompts that stand in the transcript. */
  said: readonly SaidPrompt[];
}

/** How much later than the prompt in the transcript the hook that tells it may come, in milliseconds. */
const HOOK_WITHIN_MS = 4_000;

/** Conversations of one session that are followed: each is an id that its agent names, and costs looks for its files. */
const MAX_CONVERSATIONS = 200;

/** Events by which an agent shows to be in a turn. Results of tools are not: they may come after its end. */
const IN_TURN = ['PreToolUse', 'PermissionRequest', 'Stop', 'StopFailure'];

/**
 * Opens and closes turns by what the agent's hooks tell, in their order. A turn is one prompt id of the agent, so that
 * an event that comes twice changes nothing, and a prompt that steers a turn which runs belongs to it. Events of
 * subagents do not count: their work is part of the turn.
 */
export function applyToTurns(
  table: SessionTable,
  session: string,
  events: readonly HookEvent[],
  { arrived, said }: TurnSources,
): TurnChange {
  const change: TurnChange = { opened: false, closed: false };
  let turns = table.turns(session);
  const open = (event: HookEvent, prompt: string) => {
    // A turn that is still open has lost its end: it is the beginning of this one.
    closeOpenTurn(table, session, { outcome: 'done', answer: null, endedAt: event.at });
    table.openTurn({
      session,
      agent_session: event.agentSessionId,
      event: event.promptId ?? event.name,
      prompt,
      started_at: Math.round(event.at),
    });
    change.opened = true;
    turns = table.turns(session);
  };
  const close = (event: HookEvent, outcome: 'done' | 'failed' | 'interrupted', answer: string | null) => {
    if (!closeOpenTurn(table, session, { outcome, answer, endedAt: event.at })) return;
    change.closed = true;
    turns = table.turns(session);
  };
  for (const event of events) {
    if (event.agentId !== undefined) continue;
    const known = turns.find((turn) => turn.event === (event.promptId ?? event.name));
    if (event.event === 'UserPromptSubmit') {
      const text = arrived.get(event.name) ?? event.prompt ?? '';
      if (known !== undefined) noteMessage(table, known, event, text);
      else if (!isOvertaken(event, turns)) open(event, text);
      continue;
    }
    if (event.event === 'SessionStart') {
      if (table.agentSessions(session).length < MAX_CONVERSATIONS) {
        table.appendAgentSession(session, event.agentSessionId, Math.round(event.at));
      }
      // Compaction starts the conversation anew in the middle of a turn.
      if (event.source !== 'compact') close(event, 'interrupted', null);
      continue;
    }
    const lostItsBeginning = known === undefined && event.promptId !== undefined && !isOpen(turns.at(-1));
    if (isOvertaken(event, turns) && known === undefined) continue;
    if (lostItsBeginning && IN_TURN.includes(event.event)) {
      open(event, said.find(({ promptId }) => promptId === event.promptId)?.text ?? '');
    }
    // The end of a turn that has ended comes again.
    if (known !== undefined && !isOpen(known)) continue;
    if (event.event === 'Stop') {
      // With background work the agent goes on by itself, and so does the turn.
      if ((event.backgroundTasks ?? 0) === 0) close(event, 'done', event.lastMessage ?? null);
    } else if (event.event === 'StopFailure') {
      close(event, 'failed', event.lastMessage ?? event.message ?? event.error ?? null);
    }
  }
  return change;
}

/** What was told of a turn that nobody has heard of comes after another turn has begun: it does not end that one. */
function isOvertaken({ promptId, at }: HookEvent, turns: readonly TurnRecord[]): boolean {
  const last = turns.at(-1);
  return promptId !== undefined && last !== undefined && isOpen(last) && at < last.started_at;
}

/** Keeps what steers a turn that runs. A prompt that is told again, and what the CLI itself says, steer nothing. */
function noteMessage(table: SessionTable, turn: TurnRecord, event: HookEvent, text: string): void {
  if (!isOpen(turn) || /^\s*(<task-notification|$)/.test(text)) return;
  const before = table.turnMessages(turn.session).findLast(({ n }) => n === turn.n)?.text ?? turn.prompt;
  if ([turn.prompt, before].some((known) => withoutSpace(known) === withoutSpace(text))) return;
  table.addTurnMessage({
    session: turn.session,
    n: turn.n,
    event: event.name,
    text,
    at: Math.round(event.at),
  });
}

function withoutSpace(text: string): string {
  return text.replace(/\s+/g, '');
}

/**
 * Opens the turn of a prompt that stands in the transcript, though no hook has told of it for seconds. Gives whether
 * there was one. What is older than `conversation` in this session was copied along. `settled` keeps the ids of prompts
 * that need no second look; history is read only for others.
 */
export function openMissedTurn(
  table: SessionTable,
  session: string,
  conversation: { id: string; started_at: number },
  said: readonly SaidPrompt[],
  now: number,
  settled: Set<string> = new Set(),
): boolean {
  let opened = false;
  let turns: TurnRecord[] | undefined;
  for (const { promptId, text, at } of said) {
    if (promptId === null || settled.has(promptId)) continue;
    if (at < conversation.started_at || now - at < HOOK_WITHIN_MS) continue;
    turns ??= table.turns(session);
    const last = turns.at(-1);
    const isKnown = turns.some((turn) => turn.event === promptId);
    const isLast =
      last !== undefined && isNamedByFile(last) && Math.abs(last.started_at - at) < HOOK_WITHIN_MS;
    if (isKnown || isLast || (last !== undefined && last.started_at > at)) {
      settled.add(promptId);
      continue;
    }
    closeOpenTurn(table, session, { outcome: 'done', answer: null, endedAt: at });
    table.openTurn({
      session,
      agent_session: conversation.id,
      event: promptId,
      prompt: text,
      started_at: at,
    });
    turns = undefined;
    opened = true;
  }
  return opened;
}

/** Closes the turn that is open; false when none is. `endedAt` in milliseconds since the epoch. */
export function closeOpenTurn(
  table: SessionTable,
  session: string,
  end: { outcome: 'done' | 'interrupted' | 'failed'; answer: string | null; endedAt: number },
): boolean {
  const last = table.turns(session).at(-1);
  if (last === undefined || !isOpen(last)) return false;
  return table.closeTurn(session, last.n, { ...end, endedAt: Math.round(end.endedAt) });
}

/** The agent gave no id for it: an older CLI. */
function isNamedByFile({ event }: TurnRecord): boolean {
  return /^\d{19}-/.test(event);
}

function isOpen(turn: TurnRecord | undefined): boolean {
  return turn?.outcome === 'open';
}
