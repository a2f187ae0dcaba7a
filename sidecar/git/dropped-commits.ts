import type { Git } from './git.ts';

export interface DroppedRequest {
  /** Full id of what would be put on the base. */
  head: string;
  /** Full id of what the base is now. */
  base: string;
  /** Full name of the ref that is the base, whose reflog tells what it was. */
  ref: string;
  /** A commit that was the base once, as far as anybody wrote down. */
  once: string | undefined;
  /** A commit whose history `once` may be part of without the base ever having had it. */
  beside: string | undefined;
  /** Only what changes come back counts: a commit that the base has under another id, changing the same, does not. */
  byContent: boolean;
}

/** Older entries of a reflog tell of a past that nobody works on any more. */
const REFLOG_ENTRIES = 1_000;

/**
 * The commits of `head` that the base had once and has no longer: somebody took them away, and landing `head` would
 * bring them back. Full ids, newest first. What the base was is told by its reflog, which may be short or missing, and
 * by `once`.
 * @throws FairleadError `git.failed`
 */
export async function droppedCommits(git: Git, request: DroppedRequest): Promise<string[]> {
  const { head, base, ref, once, beside } = request;
  const ahead = await reached(git, [head], [base]);
  if (ahead.length === 0) return [];
  const was = await git.lines(['rev-list', '--walk-reflogs', `--max-count=${REFLOG_ENTRIES}`, ref, '--']);
  const never = new Set(await reached(git, [head], [base, ...was]));
  const found = new Set(ahead.filter((commit) => !never.has(commit)));
  if (once !== undefined) {
    const others = beside === undefined ? [base] : [base, beside];
    const own = new Set(await reached(git, [head], [...others, once]));
    for (const commit of await reached(git, [head], others)) if (!own.has(commit)) found.add(commit);
  }
  const dropped = ahead.filter((commit) => found.has(commit));
  return request.byContent && dropped.length > 0 ? withoutTwins(git, base, head, dropped) : dropped;
}

/** Commits that `of` have and `not` lack, newest first; names of commits that are gone count as none. */
async function reached(git: Git, of: readonly string[], not: readonly string[]): Promise<string[]> {
  const names = [...of, ...new Set(not.map((name) => `^${name}`))];
  return git.lines(['rev-list', '--topo-order', '--ignore-missing', '--stdin'], {
    input: `${names.join('\n')}\n`,
  });
}

/** Leaves out commits whose change the base has in another commit. A merge has no change that could be compared. */
async function withoutTwins(git: Git, base: string, head: string, dropped: string[]): Promise<string[]> {
  const alone = new Set([
    ...(await git.lines(['rev-list', '--cherry-pick', '--right-only', '--no-merges', `${base}...${head}`])),
    ...(await git.lines(['rev-list', '--merges', head, `^${base}`])),
  ]);
  return dropped.filter((commit) => alone.has(commit));
}
