import { isDeepStrictEqual } from 'node:util';
import type { Reason } from '../protocol/reason.ts';

/** How much later another signal may tell what a need is about, in milliseconds. */
const DETAIL_WITHIN_MS = 1_000;

/** What a person is needed for, and since when (milliseconds since the epoch). */
export interface Need {
  reason: Reason | null;
  since: number;
}

/**
 * Whether two needs are one, also of none: as JSON, whatever the order of their members. The store gives another order
 * back than a reason was made in. Pure.
 */
export function isSame(one: Reason | null, other: Reason | null): boolean {
  const [text, otherText] = [JSON.stringify(one), JSON.stringify(other)];
  return text === otherText || isDeepStrictEqual(JSON.parse(text), JSON.parse(otherText));
}

/**
 * Whether `after` is what `before` was, told with more detail: the terminal says that something is asked a moment before
 * the hook says what. Pure.
 */
export function isSameNeed(before: Need, after: Need): boolean {
  if (before.reason === null || after.reason === null) return false;
  if (isSame(before.reason, after.reason)) return true;
  const { kind, call, tool, dialog } = before.reason;
  // One dialog may follow another without a signal: an answer is only for the one that was seen.
  if (dialog === true) return false;
  return (
    kind === after.reason.kind &&
    call === undefined &&
    (tool === undefined || tool === after.reason.tool) &&
    Math.abs(after.since - before.since) < DETAIL_WITHIN_MS
  );
}
