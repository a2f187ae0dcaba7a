import type { Resolution } from '../git/resolution.ts';

/** How often the agent is asked to resolve one conflict. */
export const MAX_TRIES = 2;

/** So often an entry is handed back in all: a base that never comes to rest is not to cost turn after turn. */
export const MAX_HAND_BACKS = 6;

/** What git says after the agent's turn. */
export interface Evidence {
  /** Where the branch is; undefined when it is gone. */
  result: string | undefined;
  /** Why the worktree is no place to look at, as a sentence: gone, on another branch, in a rebase. */
  misplaced: string | undefined;
  /** A merge is open in the worktree. */
  isMergeOpen: boolean;
  /** Changed files that git knows and that are not committed. */
  uncommitted: readonly string[];
  /** Of what the branch has; undefined when there is no branch. */
  resolution: Resolution | undefined;
}

/** What is missing before the conflict counts as resolved. */
export type Missing =
  | { kind: 'misplaced'; sentence: string }
  /** The merge is open. `paths`: not committed. */
  | { kind: 'not-committed'; paths: readonly string[] }
  /** No merge is open, and the base's commits are not in the branch. */
  | { kind: 'given-up' }
  | { kind: 'markers'; paths: readonly string[] }
  | { kind: 'left-over'; paths: readonly string[] };

export type Verdict =
  | { kind: 'resolved'; result: string }
  /**
   * Changes of the base are not in it. `own-side`: every file in conflict is as the branch had it. `lost`: files that had
   * merged without a conflict are as the branch had them.
   */
  | { kind: 'dropped'; how: 'own-side' | 'lost'; result: string; paths: readonly string[] }
  /** Commits that the branch had before are not in it any more. */
  | { kind: 'rewritten' }
  | { kind: 'branch-missing' }
  | { kind: 'unfinished'; missing: Missing };

/** What a resolution is worth, from what git says alone. Pure. */
export function judge(evidence: Evidence): Verdict {
  const { result, misplaced, isMergeOpen, uncommitted, resolution } = evidence;
  if (result === undefined || resolution === undefined) return { kind: 'branch-missing' };
  if (misplaced !== undefined) return unfinished({ kind: 'misplaced', sentence: misplaced });
  if (!resolution.hasTip) return { kind: 'rewritten' };
  if (isMergeOpen) return unfinished({ kind: 'not-committed', paths: uncommitted });
  if (!resolution.hasBase) return unfinished({ kind: 'given-up' });
  if (resolution.markers.length > 0) return unfinished({ kind: 'markers', paths: resolution.markers });
  if (uncommitted.length > 0) return unfinished({ kind: 'left-over', paths: uncommitted });
  if (resolution.lost.length > 0) return { kind: 'dropped', how: 'lost', result, paths: resolution.lost };
  const { contested, own } = resolution;
  if (contested.length > 0 && own.length === contested.length) {
    return { kind: 'dropped', how: 'own-side', result, paths: own };
  }
  return { kind: 'resolved', result };
}

function unfinished(missing: Missing): Verdict {
  return { kind: 'unfinished', missing };
}

/** What becomes of a conflict that was handed back. */
export type NextMove =
  | { kind: 'land' }
  /** The agent is asked again: `anew` after another merge, else about the one that is open or committed. */
  | { kind: 'ask-again'; anew: boolean; missing: Missing }
  | { kind: 'ask-person'; why: 'cut-off' | 'dropped' }
  | { kind: 'fail'; why: 'branch-missing' | 'rewritten' | 'tries' }
  | { kind: 'wait' };

export interface Standing {
  /** From 1. */
  try: number;
  /** How the turns since the last look have ended, `none` when there were none. */
  turn: 'none' | 'done' | 'cut-off';
  /** The commit that the person takes as it is. */
  accepted: string | null;
}

/** What follows from a verdict. Only a turn that came to its end is a try. Pure. */
export function decide(verdict: Verdict, standing: Standing): NextMove {
  const { turn, accepted } = standing;
  switch (verdict.kind) {
    case 'resolved':
      return { kind: 'land' };
    case 'branch-missing':
      return { kind: 'fail', why: 'branch-missing' };
    case 'dropped':
      if (accepted === verdict.result) return { kind: 'land' };
      // What the person took as it is may be another by now: they are asked about that one.
      return turn === 'none' && accepted === null ? { kind: 'wait' } : { kind: 'ask-person', why: 'dropped' };
    case 'rewritten':
      return turn === 'none' ? { kind: 'wait' } : { kind: 'fail', why: 'rewritten' };
    case 'unfinished': {
      if (turn === 'none') return { kind: 'wait' };
      if (turn === 'cut-off') return { kind: 'ask-person', why: 'cut-off' };
      const { missing } = verdict;
      if (standing.try >= MAX_TRIES) return { kind: 'fail', why: 'tries' };
      return { kind: 'ask-again', anew: missing.kind === 'given-up', missing };
    }
  }
}
