import { createHash } from 'node:crypto';
import type { HookEvent } from './hook-event.ts';

/** A tool call that has no result yet. */
export interface OpenCall {
  /** Subagent that called; null for the session's own agent. */
  agentId: string | null;
  tool: string;
  input: unknown;
  /** See {@link inputKeyOf}. */
  inputKey: string;
  /** Null when it is known only from the permission that it asks. */
  toolUseId: string | null;
  /** When it began or began to wait, milliseconds since the epoch. */
  at: number;
}

/** A prompt that is being worked on. */
export interface OpenTurn {
  at: number;
  promptId: string | null;
  /** Null when the turn is known only from what happened in it. */
  prompt: string | null;
  /** The last thing that the session's own agent did in it. */
  lastEventAt: number;
}

export type TurnEnd = 'done' | 'failed' | 'interrupted';

/** What the hooks of a session told, folded. Plain data. */
export interface HookState {
  /** Conversations of the session in order; `/clear`, `/resume` and forks add to them. */
  agentSessions: string[];
  /** When the conversation at hand began or went on; null before the first SessionStart. */
  startedAt: number | null;
  turn: OpenTurn | null;
  /** Prompt ids of the last turns that ended, oldest first: what comes late or twice of them changes nothing. */
  past: string[];
  /** How the last turn of this conversation ended. */
  last: {
    outcome: TurnEnd;
    at: number;
    promptId: string | null;
    prompt: string | null;
    message: string | null;
  } | null;
  /** Tasks and crons that go on after the last Stop and wake the agent by themselves. */
  background: number;
  /** Calls that run or wait, in order. */
  calls: OpenCall[];
  /** Ids of the last calls of this turn that have a result: their beginning may be told after it. */
  finished: string[];
  /** Calls that wait for a person, in order. */
  blocked: OpenCall[];
  /** The API error that ended the last turn. */
  error: { kind: string; message: string; at: number } | null;
  /** The CLI said that it ends. */
  ended: { at: number; reason: string } | null;
  /** Milliseconds since the epoch of the newest event; null without any. */
  lastEventAt: number | null;
}

/** Turns that are remembered after their end. What comes late comes from the last few; each keeps an event alive. */
const MAX_PAST = 4;

/** Calls that are remembered after their result. Hooks that run beside the agent may overtake each other. */
const MAX_FINISHED = 16;

/** Conversations that are remembered: ids are the agent's word, and untrusted. */
const MAX_CONVERSATIONS = 64;

/** Calls that have neither result nor denial are forgotten beyond this number, oldest first. */
const MAX_CALLS = 256;

/**
 * What a session's hook events mean together. Order and repetition of the argument do not matter: events are
 * sorted by the time at which they were written, and doubled ones are taken once. Events may be missing at any
 * place; what they would have told is then inferred from the next ones. What an agent says late or twice, in a file of
 * its own, changes nothing either, as far as its ids tell. Pure.
 */
export function foldHookEvents(events: readonly HookEvent[]): HookState {
  const sorted = [...new Map(events.map((event) => [event.name, event])).values()].sort((one, other) =>
    one.name < other.name ? -1 : 1,
  );
  const state: HookState = {
    agentSessions: [],
    startedAt: null,
    turn: null,
    past: [],
    last: null,
    background: 0,
    calls: [],
    finished: [],
    blocked: [],
    error: null,
    ended: null,
    lastEventAt: null,
  };
  for (const event of sorted) step(state, event);
  return state;
}

function step(state: HookState, event: HookEvent): void {
  const agentId = event.agentId ?? null;
  const own = agentId === null;
  if (own && isOfThePast(state, event)) {
    finishOfThePast(state, event);
    return;
  }
  state.lastEventAt = event.at;
  switch (event.event) {
    case 'SessionStart':
      startSession(state, event);
      break;
    case 'SessionEnd':
      // `/clear` and `/resume` end one conversation and start the next, in either order of the files.
      if (event.agentSessionId !== state.agentSessions.at(-1)) break;
      state.ended = { at: event.at, reason: event.endReason ?? 'other' };
      release(state, () => true);
      endTurn(state, 'interrupted', event, event.at);
      break;
    case 'UserPromptSubmit':
      if (own) takePrompt(state, event);
      break;
    case 'PreToolUse':
      touchTurn(state, event);
      beginCall(state, event);
      break;
    case 'PermissionRequest':
      touchTurn(state, event);
      block(state, event);
      break;
    case 'PostToolUse':
    case 'PostToolUseFailure':
    case 'PermissionDenied':
      finishCall(state, event);
      if (state.turn === null) break;
      touchTurn(state, event);
      noteFinished(state, event);
      break;
    case 'Stop':
      release(state, (call) => call.agentId === agentId);
      if (!own) break;
      state.finished = [];
      state.error = null;
      state.background = event.backgroundTasks ?? 0;
      endTurn(state, 'done', event);
      break;
    case 'StopFailure':
      release(state, (call) => call.agentId === agentId);
      if (!own || isTold(state, 'failed', event)) break;
      state.finished = [];
      state.error = {
        kind: event.error ?? 'unknown',
        message: event.lastMessage ?? event.message ?? 'The API refused the request.',
        at: event.at,
      };
      state.background = 0;
      endTurn(state, 'failed', event);
      break;
    case 'SubagentStop':
      if (!own) release(state, (call) => call.agentId === agentId);
      break;
    default:
      // Notification comes seconds late or never; anything else is of a newer CLI.
      break;
  }
}

/**
 * Of a turn that another has followed, or of a prompt whose turn has ended. After a Stop the turn may go on: a Stop hook
 * of the person may want that. With a new conversation nothing of the one before goes on.
 */
function isOfThePast(state: HookState, told: HookEvent): boolean {
  const { event, promptId, agentSessionId, source } = told;
  // `/clear` always makes a conversation.
  if (event === 'SessionStart') return source === 'clear' && state.agentSessions.includes(agentSessionId);
  if (event === 'SessionEnd' || promptId === undefined || !state.past.includes(promptId)) return false;
  if (state.turn !== null) return state.turn.promptId !== promptId;
  if (state.last?.promptId !== promptId) return true;
  // Background work that ends wakes the agent with other words.
  return event === 'UserPromptSubmit' && (state.last.prompt ?? told.prompt) === told.prompt;
}

/** A call of before has its result now; that is all that can still come of it. */
function finishOfThePast(state: HookState, event: HookEvent): void {
  if (!['PostToolUse', 'PostToolUseFailure', 'PermissionDenied'].includes(event.event)) return;
  if (event.toolUseId !== undefined) finishCall(state, event);
}

function startSession(state: HookState, event: HookEvent): void {
  noteSession(state, event.agentSessionId);
  state.ended = null;
  state.startedAt = event.at;
  // Compaction starts the session anew in the middle of a turn, which goes on.
  if (event.source === 'compact') return;
  endTurn(state, 'interrupted', event, state.turn?.lastEventAt);
  release(state, () => true);
  state.finished = [];
  state.background = 0;
  state.error = null;
  if (event.source === 'clear') state.last = null;
}

function takePrompt(state: HookState, event: HookEvent): void {
  const { turn } = state;
  const isSame = event.promptId !== undefined && turn?.promptId === event.promptId;
  // What steers the turn has words of its own.
  if (isSame && turn?.prompt === event.prompt) return;
  noteSession(state, event.agentSessionId);
  release(state, (call) => call.agentId === null);
  state.error = null;
  state.background = 0;
  state.ended = null;
  if (isSame && state.turn !== null) {
    // Sent while the agent was at work: it steers the turn that runs.
    state.turn.lastEventAt = event.at;
    state.turn.prompt ??= event.prompt ?? null;
    return;
  }
  const promptId = event.promptId ?? null;
  state.finished = [];
  endTurn(state, 'interrupted', event, state.turn?.lastEventAt);
  state.turn = { at: event.at, promptId, prompt: event.prompt ?? null, lastEventAt: event.at };
}

/** How turns of another conversation ended says nothing about this one. */
function noteSession(state: HookState, id: string): void {
  if (state.agentSessions.at(-1) === id) return;
  state.agentSessions.push(id);
  if (state.agentSessions.length > MAX_CONVERSATIONS) state.agentSessions.shift();
  state.last = null;
}

/**
 * A tool call of the session's own agent proves a turn: its prompt was missed, or a Stop hook made the agent go on.
 * The result of one does not: its hook runs beside the agent and may come after the Stop.
 */
function touchTurn(state: HookState, event: HookEvent): void {
  if (event.agentId !== undefined) return;
  state.turn ??= { at: event.at, promptId: event.promptId ?? null, prompt: null, lastEventAt: event.at };
  state.turn.lastEventAt = event.at;
}

/** Ends the open turn; a Stop also ends one whose beginning was missed. `at`: when it was last seen to go on. */
function endTurn(state: HookState, outcome: TurnEnd, event: HookEvent, at = event.at): void {
  if (state.turn === null && outcome === 'interrupted') return;
  const promptId = state.turn?.promptId ?? event.promptId ?? null;
  const prompt = state.turn?.prompt ?? null;
  const message = outcome === 'interrupted' ? null : (event.lastMessage ?? null);
  if (isTold(state, outcome, event)) return;
  state.last = { outcome, at, promptId, prompt, message };
  state.turn = null;
  if (promptId === null) return;
  state.past = [...state.past.filter((id) => id !== promptId), promptId].slice(-MAX_PAST);
}

/** The turn ended so, by the same words, and nothing has happened since. */
function isTold({ turn, last }: HookState, outcome: TurnEnd, event: HookEvent): boolean {
  return (
    turn === null &&
    event.promptId !== undefined &&
    last?.promptId === event.promptId &&
    last.outcome === outcome &&
    last.message === (event.lastMessage ?? null)
  );
}

/** Once, however often it is told, and not after its result. */
function beginCall(state: HookState, event: HookEvent): void {
  const call = callOf(event);
  const { toolUseId } = call;
  const isKnown = state.calls.some((each) => each.toolUseId === toolUseId);
  if (toolUseId !== null && (isKnown || state.finished.includes(toolUseId))) return;
  state.calls.push(call);
  if (state.calls.length > MAX_CALLS) state.calls.shift();
  // Its request for a permission may have been faster.
  const asked = state.blocked.find((blocked) => blocked.toolUseId === null && isSameCall(blocked, call));
  if (asked !== undefined) asked.toolUseId = call.toolUseId;
}

function callOf(event: HookEvent): OpenCall {
  return {
    agentId: event.agentId ?? null,
    tool: event.toolName ?? '',
    input: event.toolInput,
    inputKey: inputKeyOf(event),
    toolUseId: event.toolUseId ?? null,
    at: event.at,
  };
}

/**
 * A request has no id: it belongs to the call of the same agent, tool and input that has none yet. Where there is none,
 * and one like it waits already, it is the same that came twice.
 */
function block(state: HookState, event: HookEvent): void {
  const asking = callOf(event);
  const taken = state.blocked.map(({ toolUseId }) => toolUseId);
  const call = state.calls.find(
    (each) => each.toolUseId !== null && !taken.includes(each.toolUseId) && isSameCall(each, asking),
  );
  if (call === undefined && state.blocked.some((each) => isSameCall(each, asking))) return;
  state.blocked.push({ ...asking, toolUseId: call?.toolUseId ?? null });
  if (state.blocked.length > MAX_CALLS) state.blocked.shift();
}

function isSameCall(one: OpenCall, other: OpenCall): boolean {
  return one.agentId === other.agentId && one.tool === other.tool && one.inputKey === other.inputKey;
}

/** The end of one call of one agent. Not of others: agents of a session ask in parallel. */
function finishCall(state: HookState, event: HookEvent): void {
  const agentId = event.agentId ?? null;
  const tool = event.toolName ?? '';
  const sameCall = (call: { agentId: string | null; tool: string; toolUseId: string | null }) =>
    call.agentId === agentId &&
    (call.toolUseId !== null && event.toolUseId !== undefined
      ? call.toolUseId === event.toolUseId
      : call.tool === tool);
  const call = state.calls.findIndex(sameCall);
  if (call !== -1) state.calls.splice(call, 1);
  const blocked = state.blocked.findIndex(sameCall);
  if (blocked !== -1) state.blocked.splice(blocked, 1);
}

function noteFinished(state: HookState, { toolUseId }: HookEvent): void {
  if (toolUseId === undefined || state.finished.includes(toolUseId)) return;
  state.finished = [...state.finished, toolUseId].slice(-MAX_FINISHED);
}

function release(state: HookState, which: (call: { agentId: string | null }) => boolean): void {
  state.blocked = state.blocked.filter((call) => !which(call));
  state.calls = state.calls.filter((call) => !which(call));
}

/** Made once for each event: an input may have megabytes, and is compared again and again. */
const KEYS = new WeakMap<HookEvent, string>();

/** Short, and the same for tool inputs that are equal as JSON, whatever the order of their members. See {@link MAX_KEYED}. */
export function inputKeyOf(event: HookEvent): string {
  let key = KEYS.get(event);
  if (key === undefined) {
    key = createHash('sha256').update(describe(event.toolInput)).digest('base64');
    KEYS.set(event, key);
  }
  return key;
}

/** Characters of an input that decide which one it is. Those of one agent and tool that are equal so far are taken for one. */
const MAX_KEYED = 128 * 1024;
/** Of a string in it: so many from its start, and from its end. */
const MAX_KEYED_END = 8 * 1024;
/** Of an object with more members their number alone counts. */
const MAX_MEMBERS = 1_000;
const MAX_DEPTH = 100;

function endsOf(text: string): string {
  return text.length <= 2 * MAX_KEYED_END ? text : text.slice(0, MAX_KEYED_END) + text.slice(-MAX_KEYED_END);
}

/** The first {@link MAX_KEYED} characters of the input, members in the order of their names. */
function describe(input: unknown): string {
  let text = '';
  const visit = (value: unknown, depth: number): void => {
    if (text.length >= MAX_KEYED) return;
    if (typeof value === 'string') text += `"${value.length}:${endsOf(value)}`;
    else if (typeof value !== 'object' || value === null) text += `${String(value)},`;
    else if (depth === MAX_DEPTH) text += '…';
    else if (Array.isArray(value)) {
      text += `[${value.length}:`;
      for (const each of value) {
        if (text.length >= MAX_KEYED) return;
        visit(each, depth + 1);
      }
    } else {
      const members = Object.entries(value);
      text += `{${members.length}:`;
      if (members.length > MAX_MEMBERS) return;
      for (const [name, each] of members.sort(([one], [other]) => (one < other ? -1 : 1))) {
        visit(name, depth);
        visit(each, depth + 1);
      }
    }
  };
  visit(input, 0);
  return text;
}
