import { type CommitInfo, commitTree, readCommits } from './commits.ts';
import { type Git, textOf } from './git.ts';
import type { Identity } from './identity.ts';
import type { MergeOutcome, Merger } from './merging.ts';
import { isAncestor, mergeBase } from './refs.ts';

/** How a rebase in memory ended; nothing points at what it made. */
export type RebaseOutcome =
  | { kind: 'rebased' /** The new tip. */; commit: string /** Commits that were moved. */; moved: number }
  /** The branch contains merges, which a rebase would flatten. */
  | { kind: 'has-merges' }
  | {
      kind: 'stopped' /** The commit that could not be moved. */;
      at: CommitInfo;
      outcome: Exclude<MergeOutcome, { kind: 'clean' }>;
    }
  | { kind: 'unrelated' };

export interface RebaseRequest {
  onto: string;
  tip: string;
  /** Becomes the committer; each commit keeps its author and message. */
  identity: Identity;
  /** Milliseconds since the epoch. */
  at: number;
  sign: boolean;
}

/** Nobody's: a commit that only gives a three-way merge its base. Always the same, so that it is stored once. */
const NOBODY: Identity = {
  author: { name: 'Fairlead', email: 'fairlead@localhost' },
  committer: { name: 'Fairlead', email: 'fairlead@localhost' },
};

/**
 * Replays the commits of `tip` that `onto` lacks on top of it, as `git rebase` would: commits that `onto` has under
 * another id are dropped, those that become empty too, those that were empty stay.
 * @throws FairleadError `git.failed`, `disk.full`
 */
export async function rebase(merger: Merger, request: RebaseRequest): Promise<RebaseOutcome> {
  const { git } = merger.repository;
  const { onto, tip } = request;
  if ((await mergeBase(git, onto, tip)) === undefined) return { kind: 'unrelated' };
  const merges = await git.text(['rev-list', '--merges', '--max-count=1', tip, `^${onto}`]);
  if (merges !== '') return { kind: 'has-merges' };
  if (await isAncestor(git, onto, tip)) return { kind: 'rebased', commit: tip, moved: 0 };

  const picks = await readCommits(
    git,
    '--reverse',
    '--topo-order',
    '--no-merges',
    '--cherry-pick',
    '--right-only',
    `${onto}...${tip}`,
  );
  let top = { commit: onto, tree: await git.text(['rev-parse', `${onto}^{tree}`]) };
  let moved = 0;
  for (const pick of picks) {
    const before = await treeBefore(git, pick);
    const outcome = await replay(merger, pick, before, top);
    if (outcome.kind !== 'clean') return { kind: 'stopped', at: pick, outcome };
    const wasEmpty = before === pick.tree;
    if (outcome.tree === top.tree && !wasEmpty) continue;
    const commit = await commitTree(git, {
      tree: outcome.tree,
      parents: [top.commit],
      message: pick.message,
      author: pick.author,
      identity: request.identity,
      at: request.at,
      sign: request.sign,
    });
    top = { commit, tree: outcome.tree };
    moved += 1;
  }
  return { kind: 'rebased', commit: top.commit, moved };
}

/**
 * One pick: a merge whose base is exactly the tree before it. `merge-tree --merge-base` came with 2.40 only; two
 * commits with a common parent do the same with any git that can merge in memory.
 */
async function replay(
  merger: Merger,
  pick: CommitInfo,
  before: string,
  top: { commit: string; tree: string },
): Promise<MergeOutcome> {
  if (before === top.tree) return { kind: 'clean', tree: pick.tree };
  const { git } = merger.repository;
  const stand = (tree: string, parents: string[]) =>
    commitTree(git, { tree, parents, message: 'step', identity: NOBODY, at: 0, sign: false });
  const base = await stand(before, []);
  const [ours, theirs] = await Promise.all([stand(top.tree, [base]), stand(pick.tree, [base])]);
  return merger.merge({ ours, theirs, attributesOf: top.commit });
}

/** The tree that a commit changed: that of its parent, or the empty one. */
async function treeBefore(git: Git, commit: CommitInfo): Promise<string> {
  const [parent] = commit.parents;
  if (parent !== undefined) return git.text(['rev-parse', `${parent}^{tree}`]);
  return textOf(await git.run(['mktree'], { input: '' }));
}
