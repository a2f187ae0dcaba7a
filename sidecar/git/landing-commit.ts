import { type CommitInfo, commitTree } from './commits.ts';
import type { Identity } from './identity.ts';
import type { MergeOutcome, Merger } from './merging.ts';
import { mergeInCheckout } from './merging-checkout.ts';
import { rebase } from './rebasing.ts';

export type LandingMethod = 'merge' | 'squash' | 'rebase';

export interface LandingRequest {
  method: LandingMethod;
  /** Full id of the commit that the base is at. */
  base: string;
  /** Full id of the commit to land. */
  head: string;
  /** Of the merge or squash commit. */
  message: string;
  identity: Identity;
  /** Milliseconds since the epoch. */
  at: number;
  sign: boolean;
  /** A folder that does not exist, for merges that need a checkout. */
  checkout: string;
}

/** The commit that brings `head` onto `base`; nothing points at it yet. */
export type LandingOutcome =
  | {
      kind: 'made';
      commit: string;
      tree: string /** `squash` where a rebase would have flattened merges. */;
      method: LandingMethod;
    }
  | {
      kind: 'conflict';
      outcome: Extract<MergeOutcome, { kind: 'conflict' }> /** Where a rebase stopped. */;
      at: CommitInfo | undefined;
    }
  /** The tree would be the base's own. */
  | { kind: 'nothing' }
  | { kind: 'unrelated' }
  | { kind: 'infrastructure'; text: string; cause?: unknown };

/** @throws FairleadError `git.failed`, `git.signing-failed`, `disk.full` */
export async function makeLandingCommit(merger: Merger, request: LandingRequest): Promise<LandingOutcome> {
  const { git } = merger.repository;
  const baseTree = await git.text(['rev-parse', `${request.base}^{tree}`]);
  if (request.method === 'rebase') {
    const rebased = await rebase(merger, { ...request, onto: request.base, tip: request.head });
    if (rebased.kind === 'rebased') {
      if (rebased.commit === request.base) return { kind: 'nothing' };
      const tree = await git.text(['rev-parse', `${rebased.commit}^{tree}`]);
      return { kind: 'made', commit: rebased.commit, tree, method: 'rebase' };
    }
    if (rebased.kind === 'unrelated') return rebased;
    if (rebased.kind === 'stopped') {
      const { outcome } = rebased;
      if (outcome.kind === 'conflict') return { kind: 'conflict', outcome, at: rebased.at };
      if (outcome.kind !== 'needs-worktree') return outcome;
    }
  }
  const merged = await mergeSomehow(merger, request);
  if (merged.kind === 'conflict') return { kind: 'conflict', outcome: merged, at: undefined };
  if (merged.kind === 'needs-worktree')
    return { kind: 'infrastructure', text: 'The merge needs a checkout.' };
  if (merged.kind !== 'clean') return merged;
  if (merged.tree === baseTree) return { kind: 'nothing' };
  const method = request.method === 'merge' ? 'merge' : 'squash';
  const commit = await commitTree(git, {
    tree: merged.tree,
    parents: method === 'merge' ? [request.base, request.head] : [request.base],
    message: request.message,
    identity: request.identity,
    at: request.at,
    sign: request.sign,
  });
  return { kind: 'made', commit, tree: merged.tree, method };
}

async function mergeSomehow(merger: Merger, request: LandingRequest): Promise<MergeOutcome> {
  const sides = { ours: request.base, theirs: request.head };
  const merged = await merger.merge(sides);
  return merged.kind === 'needs-worktree'
    ? mergeInCheckout(merger.repository, sides, request.checkout)
    : merged;
}
