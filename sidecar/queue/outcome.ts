import type { Upstream } from '../git/base.ts';
import type { EntryReason } from '../protocol/entry.ts';
import type { ReasonKind } from '../protocol/reason.ts';

export interface Conflict {
  message: string;
  paths: readonly string[];
  /** The commit of the base, and the one that was to land on it. */
  base: string;
  head: string;
}

/** What one attempt to land came to. Exactly one of these, whatever happened. */
export type Outcome =
  | { kind: 'landed'; commit: string; note: string | null }
  | { kind: 'nothing-to-land' }
  | { kind: 'cancelled'; message?: string }
  /** The base is not what it was: at once again, and no try. */
  | { kind: 'base-moved' }
  /** What was begun has not happened: from the start. */
  | { kind: 'again' }
  /** The branch is not what was queued: secured anew, and behind those that came meanwhile. */
  | { kind: 'head-moved' }
  /** The base lost commits that it had: every entry for it stops, and the person decides. */
  | {
      kind: 'base-rewound' /** What it is now. */;
      commit: string;
      upstream: Upstream | undefined;
      message: string /** What of it the attempted entry would bring back, as a sentence. */;
      dropped?: string | undefined;
    }
  /** Its branch has commits that the base has lost: it stops, and the person decides. */
  | { kind: 'dropped' /** What the base is now. */; commit: string; message: string }
  /**
   * Nothing that the author could mend: tried again after `retryMs`, holding up nobody. A `trouble` is tried at growing
   * intervals, and the person is called when it does not mend itself; so is one who waits for their own folder.
   */
  | {
      kind: 'waits';
      reason: EntryReason;
      message: string;
      retryMs: number;
      paths?: readonly string[];
      demand?: ReasonKind;
      isTrouble: boolean;
    }
  /** Both sides changed the same: what becomes of it is decided by who can resolve it. */
  | ({ kind: 'conflict' } & Conflict)
  /** The author is asked to resolve it; those behind go on. */
  | ({ kind: 'handed-back' } & Conflict)
  /** The author has resolved it, or nobody needs to any more: from the start, at its old place. */
  | { kind: 'resolved'; message: string }
  /** It leaves the queue. A `try` is a conflict or a red check: what the author has to mend. */
  | { kind: 'failed'; reason: EntryReason; message: string; isTry: boolean; paths?: readonly string[] };

const SECOND = 1_000;

/** How long until something that may mend itself is looked at again. */
export const RETRY_MS = {
  offline: 30 * SECOND,
  person: 15 * SECOND,
  infrastructure: 20 * SECOND,
  turn: 5 * SECOND,
  /** A server that says no would say it again, a check that cannot run would not run again. */
  refused: 600 * SECOND,
} as const;

export function waits(
  reason: EntryReason,
  message: string,
  retryMs: number,
  more: { paths?: readonly string[]; demand?: ReasonKind; isTrouble?: boolean } = {},
): Outcome {
  return { kind: 'waits', reason, message, retryMs, isTrouble: reason === 'infrastructure', ...more };
}

export function fails(
  reason: EntryReason,
  message: string,
  more: { paths?: readonly string[]; isTry?: boolean } = {},
): Extract<Outcome, { kind: 'failed' }> {
  return { kind: 'failed', reason, message, isTry: false, ...more };
}
