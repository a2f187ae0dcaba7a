import type { TranscriptRow } from './transcript-row.ts';

/** What a transcript tells about the state of its conversation. Plain data, folded row by row. */
export interface TranscriptHints {
  /** Milliseconds since the epoch, each the newest of its kind; null for none. */
  promptAt: number | null;
  interruptAt: number | null;
  turnEndAt: number | null;
  apiErrorAt: number | null;
  /** The last answer or tool result of the session's own agent. */
  activityAt: number | null;
  /** Ids of the tool calls that have a result, newest last. */
  finishedCalls: string[];
}

const KEPT_CALLS = 64;

export const NO_HINTS: TranscriptHints = {
  promptAt: null,
  interruptAt: null,
  turnEndAt: null,
  apiErrorAt: null,
  activityAt: null,
  finishedCalls: [],
};

/** Pure. Rows of subagents only tell which of their calls are finished. */
export function foldHints(hints: TranscriptHints, rows: readonly TranscriptRow[]): TranscriptHints {
  const next: TranscriptHints = { ...hints, finishedCalls: [...hints.finishedCalls] };
  const newest = (before: number | null, at: number) =>
    Number.isNaN(at) ? before : Math.max(before ?? at, at);
  for (const row of rows) {
    if (row.kind === 'tool-result') next.finishedCalls.push(row.toolUseId);
    if (row.kind === 'cost-state' || row.kind === 'other' || row.isSidechain) continue;
    if (row.kind === 'prompt' && !row.isMeta) next.promptAt = newest(next.promptAt, row.at);
    if (row.kind === 'interrupt') next.interruptAt = newest(next.interruptAt, row.at);
    if (row.kind === 'turn-end') next.turnEndAt = newest(next.turnEndAt, row.at);
    if (row.kind === 'api-error') next.apiErrorAt = newest(next.apiErrorAt, row.at);
    if (row.kind === 'response' || row.kind === 'tool-result')
      next.activityAt = newest(next.activityAt, row.at);
  }
  next.finishedCalls.splice(0, next.finishedCalls.length - KEPT_CALLS);
  return next;
}

/** What two stretches of one transcript tell together, the earlier one first. Pure. */
export function mergeHints(earlier: TranscriptHints, later: TranscriptHints): TranscriptHints {
  const newest = (a: number | null, b: number | null) =>
    a === null || b === null ? (a ?? b) : Math.max(a, b);
  return {
    promptAt: newest(earlier.promptAt, later.promptAt),
    interruptAt: newest(earlier.interruptAt, later.interruptAt),
    turnEndAt: newest(earlier.turnEndAt, later.turnEndAt),
    apiErrorAt: newest(earlier.apiErrorAt, later.apiErrorAt),
    activityAt: newest(earlier.activityAt, later.activityAt),
    finishedCalls: [...earlier.finishedCalls, ...later.finishedCalls].slice(-KEPT_CALLS),
  };
}
