import type { HookEvent } from './hook-event.ts';

/** Ends of a tool call. */
const RESULTS = ['PostToolUse', 'PostToolUseFailure', 'PermissionDenied'];

/**
 * Names of the events that can be forgotten without changing what the rest means: tool calls that have ended, from
 * their beginning over the permission that they asked to their result. The newest event always stays. Pure.
 */
export function finishedCalls(events: readonly HookEvent[]): string[] {
  const newest = events
    .map(({ name }) => name)
    .sort()
    .at(-1);
  const finished = events.filter(
    ({ event, toolUseId }) => RESULTS.includes(event) && toolUseId !== undefined,
  );
  const forgotten = new Set<string>();
  for (const result of finished) {
    const begin = events.find(
      ({ event, toolUseId, agentId }) =>
        event === 'PreToolUse' && toolUseId === result.toolUseId && agentId === result.agentId,
    );
    if (begin === undefined || result.name === newest || begin.name > result.name) continue;
    const input = JSON.stringify(begin.toolInput);
    const request = events.find(
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
  return [...forgotten];
}
