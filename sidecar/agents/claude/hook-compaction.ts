import type { HookEvent } from './hook-event.ts';
import { foldHookEvents, keyOf } from './hook-state.ts';

/**
 * Names of the events that can be forgotten: without them the others mean the same, and so they do with every event
 * that is yet to come, since what events mean is folded in their order. What goes are tool calls that have ended,
 * turns before the last few, and what tells nothing. Pure.
 */
export function forgettable(events: readonly HookEvent[]): string[] {
  let kept = events.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const meaning = meaningOf(kept);
  const forgotten: string[] = [];
  for (const group of groupsOf(kept)) {
    const rest = kept.filter((event) => !group.includes(event));
    if (meaningOf(rest) !== meaning) continue;
    kept = rest;
    forgotten.push(...group.map(({ name }) => name));
  }
  return forgotten;
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

function meaningOf(events: readonly HookEvent[]): string {
  return JSON.stringify(foldHookEvents(events), (name, value: unknown) =>
    name === 'input' ? keyOf(value) : value,
  );
}

/** Events that go together or not at all, oldest first: a tool call with its permission and its result, or one alone. */
function groupsOf(sorted: readonly HookEvent[]): HookEvent[][] {
  const groups = new Map<string, HookEvent[]>();
  for (const event of sorted) {
    const group = groups.get(callOf(event, groups) ?? event.name);
    if (group === undefined) groups.set(callOf(event, groups) ?? event.name, [event]);
    else group.push(event);
  }
  return [...groups.values()];
}

/** The call that an event belongs to. A request for a permission has no id: it is of a call that has not asked yet. */
function callOf(event: HookEvent, groups: ReadonlyMap<string, readonly HookEvent[]>): string | undefined {
  if (event.toolUseId !== undefined) return event.toolUseId;
  if (event.event !== 'PermissionRequest') return undefined;
  const input = keyOf(event.toolInput);
  for (const [id, [begin, ...more]] of groups) {
    const fits =
      begin?.event === 'PreToolUse' &&
      more.length === 0 &&
      begin.agentId === event.agentId &&
      begin.toolName === event.toolName &&
      keyOf(begin.toolInput) === input;
    if (fits) return id;
  }
  return undefined;
}
