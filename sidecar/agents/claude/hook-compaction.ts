import type { HookEvent } from './hook-event.ts';

/** Ends of a tool call. */
const RESULTS = ['PostToolUse', 'PostToolUseFailure', 'PermissionDenied'];

/** Events that change what the others mean; any other says only that the agent lives. */
const TELLING = [
  ...RESULTS,
  'SessionStart',
  'SessionEnd',
  'UserPromptSubmit',
  'PreToolUse',
  'PermissionRequest',
  'Stop',
  'StopFailure',
  'SubagentStop',
];

/**
 * Names of the events that can be forgotten without changing what the rest means, now or with those to come: tool
 * calls that have ended, turns before the last one that has ended, events that tell nothing. The newest event of all
 * and of the session's own agent always stay, and so does every beginning and end of a conversation. Pure.
 */
export function forgettable(events: readonly HookEvent[]): string[] {
  const sorted = events.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const newest = [sorted.at(-1)?.name, sorted.findLast(isOwn)?.name];
  const old = earlierTurns(sorted);
  const rest = sorted.filter(({ name }) => !old.has(name));
  const forgotten = new Set([...old, ...finishedCalls(rest)]);
  for (const { name, event } of sorted) if (!TELLING.includes(event)) forgotten.add(name);
  return [...forgotten].filter((name) => !newest.includes(name));
}

function isOwn({ agentId }: HookEvent): boolean {
  return agentId === undefined;
}

/** What the session's own agent did before the prompt of the last turn that has ended. */
function earlierTurns(sorted: readonly HookEvent[]): Set<string> {
  const end = sorted.findLastIndex((event) => isOwn(event) && ['Stop', 'StopFailure'].includes(event.event));
  const begin = sorted.findLastIndex(
    (event, at) => at < end && isOwn(event) && event.event === 'UserPromptSubmit',
  );
  const conversation = sorted[begin]?.agentSessionId;
  const started = sorted.some(
    (event) => event.event === 'SessionStart' && event.agentSessionId === conversation,
  );
  if (begin === -1 || !started) return new Set();
  return new Set(
    sorted
      .slice(0, begin)
      .filter((event) => isOwn(event) && event.event !== 'SessionStart' && event.event !== 'SessionEnd')
      .map(({ name }) => name),
  );
}

/** Tool calls from their beginning over the permission that they asked for to their result. */
function finishedCalls(sorted: readonly HookEvent[]): Set<string> {
  const newest = [sorted.at(-1)?.name, sorted.findLast(isOwn)?.name];
  const forgotten = new Set<string>();
  for (const result of sorted) {
    if (!RESULTS.includes(result.event) || result.toolUseId === undefined) continue;
    const begin = sorted.find(
      ({ event, toolUseId, agentId }) =>
        event === 'PreToolUse' && toolUseId === result.toolUseId && agentId === result.agentId,
    );
    if (begin === undefined || begin.name > result.name || newest.includes(result.name)) continue;
    // Without its prompt a turn is known only by what happened in it.
    if (isOwn(begin) && !isInTurn(sorted, begin)) continue;
    const input = JSON.stringify(begin.toolInput);
    const request = sorted.find(
      (event) =>
        event.event === 'PermissionRequest' &&
        !forgotten.has(event.name) &&
        event.agentId === begin.agentId &&
        event.toolName === begin.toolName &&
        event.name > begin.name &&
        event.name < result.name &&
        JSON.stringify(event.toolInput) === input,
    );
    for (const event of [begin, request, result]) if (event !== undefined) forgotten.add(event.name);
  }
  return forgotten;
}

function isInTurn(sorted: readonly HookEvent[], call: HookEvent): boolean {
  const before = sorted.findLast(
    (event) =>
      event.name < call.name &&
      isOwn(event) &&
      ['UserPromptSubmit', 'Stop', 'StopFailure', 'SessionStart', 'SessionEnd'].includes(event.event) &&
      event.source !== 'compact',
  );
  return before?.event === 'UserPromptSubmit';
}
