import { isDeepStrictEqual } from 'node:util';
import type { HookEvent } from './hook-event.ts';
import { foldHookEvents, type HookState, inputKeyOf, type OpenCall } from './hook-state.ts';

/** Folds by which it is tried what can go. What an agent leaves needs a few; what is left over is tried with the next events. */
export const MAX_FOLDS = 64;

/**
 * Names of the events that can be forgotten: without them the others mean the same, and so they do with every event
 * that is yet to come, since what events mean is folded in their order. What goes are tool calls that have ended,
 * turns before the last few, and what tells nothing. Events are untrusted, and so many that nothing could go without
 * a fold for each would hold up everybody: it is tried {@link MAX_FOLDS} times at most. Pure.
 */
export function forgettable(events: readonly HookEvent[]): string[] {
  const trial = new Trial(events.toSorted((one, other) => (one.name < other.name ? -1 : 1)));
  const { hidden, shown } = groupsOf(trial.kept, trial.state);
  // What nothing in the state tells of goes together, nearly always.
  trial.forgetMost(hidden);
  for (const group of shown) trial.forget([group]);
  return trial.forgotten;
}

type Group = readonly HookEvent[];

/** Forgets what can go without a change of what the events mean. */
class Trial {
  kept: readonly HookEvent[];
  readonly state: HookState;
  readonly forgotten: string[] = [];
  readonly #meaning: unknown;
  #folds = 0;

  constructor(events: readonly HookEvent[]) {
    this.kept = events;
    this.state = foldHookEvents(events);
    this.#meaning = meaningOf(this.state);
  }

  /** All of the groups or none; gives which. */
  forget(groups: readonly Group[]): boolean {
    if (this.#folds === MAX_FOLDS || groups.length === 0) return false;
    this.#folds += 1;
    const gone = new Set(groups.flat());
    const rest = this.kept.filter((event) => !gone.has(event));
    if (!isDeepStrictEqual(meaningOf(foldHookEvents(rest)), this.#meaning)) return false;
    this.kept = rest;
    for (const { name } of gone) this.forgotten.push(name);
    return true;
  }

  /** All of the groups; where that changes the meaning, each half by itself. */
  forgetMost(groups: readonly Group[]): void {
    if (this.forget(groups) || groups.length < 2 || this.#folds === MAX_FOLDS) return;
    const half = groups.length >> 1;
    this.forgetMost(groups.slice(0, half));
    this.forgetMost(groups.slice(half));
  }
}

/** Events of a session that are kept, and the characters of their JSON. What an agent needs is far below. */
export const MAX_KEPT = 500;
export const MAX_KEPT_CHARACTERS = 32 * 1024 * 1024;

/**
 * Names of the events that cannot be kept, oldest first, because there would be too many or too much: of an agent that
 * goes mad, or of whoever writes in its place. `sizeOf` gives the characters of an event. Pure.
 */
export function unkeepable(events: readonly HookEvent[], sizeOf: (event: HookEvent) => number): string[] {
  const newestFirst = events.toSorted((one, other) => (one.name < other.name ? 1 : -1));
  let characters = 0;
  return newestFirst
    .filter((event, at) => {
      characters += sizeOf(event);
      return at >= MAX_KEPT || characters > MAX_KEPT_CHARACTERS;
    })
    .map(({ name }) => name);
}

/** The state, with inputs by their keys alone. */
function meaningOf(state: HookState): unknown {
  const withoutInput = ({ input: _, ...call }: OpenCall) => call;
  return { ...state, calls: state.calls.map(withoutInput), blocked: state.blocked.map(withoutInput) };
}

/**
 * Events that go together or not at all, oldest first: a tool call with its permission and its result, or one alone.
 * `shown` are those of which the state has a trace. Without those that cannot go: calls that run or wait, the ends that
 * are remembered of others, and what alone tells of a conversation.
 */
function groupsOf(sorted: readonly HookEvent[], state: HookState): { hidden: Group[]; shown: Group[] } {
  const groups = new Map<string, HookEvent[]>();
  for (const event of sorted) {
    const key = callOf(event, groups) ?? event.name;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [event]);
    else group.push(event);
  }
  const calls = [...state.calls, ...state.blocked];
  const fixed = new Set([...calls.map(({ toolUseId }) => toolUseId), ...state.finished]);
  const unnamed = new Set(calls.filter(({ toolUseId }) => toolUseId === null).map(({ at }) => at));
  const begins = Map.groupBy(sorted.filter(isBegin), ({ agentSessionId }) => agentSessionId);
  const isOnlyBegin = (event: HookEvent) =>
    isBegin(event) &&
    begins.get(event.agentSessionId)?.length === 1 &&
    state.agentSessions.includes(event.agentSessionId);
  const isFixed = ([first]: Group, key: string) =>
    fixed.has(key) ||
    (first !== undefined && first.toolUseId === undefined && (unnamed.has(first.at) || isOnlyBegin(first)));
  const traces = tracesOf(sorted, state);
  const free = [...groups].filter(([key, group]) => !isFixed(group, key)).map(([, group]) => group);
  const isShown = (group: Group) => group.some((event) => traces.has(event));
  return { hidden: free.filter((group) => !isShown(group)), shown: free.filter(isShown) };
}

function isBegin({ event }: HookEvent): boolean {
  return event === 'SessionStart' || event === 'UserPromptSubmit';
}

/** Events at whose time, or by whose ids, something in the state came to be. */
function tracesOf(sorted: readonly HookEvent[], state: HookState): Set<HookEvent> {
  const { turn, last, error, ended, startedAt, lastEventAt } = state;
  const times = new Set([
    turn?.at,
    turn?.lastEventAt,
    last?.at,
    error?.at,
    ended?.at,
    startedAt,
    lastEventAt,
  ]);
  const traces = new Set(sorted.filter(({ at }) => times.has(at)));
  const latest = new Map<string, HookEvent>();
  let conversation: string | undefined;
  for (const event of sorted) {
    const { event: kind, agentId, agentSessionId, promptId } = event;
    if (agentId !== undefined) continue;
    if (isBegin(event) && agentSessionId !== conversation) {
      conversation = agentSessionId;
      traces.add(event);
    }
    const isOfTurn = kind === 'UserPromptSubmit' || kind === 'Stop' || kind === 'StopFailure';
    if (!isOfTurn || promptId === undefined) continue;
    if (state.past.includes(promptId) || turn?.promptId === promptId)
      latest.set(`${kind} ${promptId}`, event);
    // It may have told of background work, or ended an error.
    latest.set(kind, event);
  }
  for (const event of latest.values()) traces.add(event);
  return traces;
}

/** The call that an event belongs to. A request for a permission has no id: it is of a call that has not asked yet. */
function callOf(event: HookEvent, groups: ReadonlyMap<string, readonly HookEvent[]>): string | undefined {
  if (event.toolUseId !== undefined) return event.toolUseId;
  if (event.event !== 'PermissionRequest') return undefined;
  const input = inputKeyOf(event);
  for (const [id, [begin, ...more]] of groups) {
    const fits =
      begin?.event === 'PreToolUse' &&
      more.length === 0 &&
      begin.agentId === event.agentId &&
      begin.toolName === event.toolName &&
      inputKeyOf(begin) === input;
    if (fits) return id;
  }
  return undefined;
}
