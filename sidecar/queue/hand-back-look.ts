import { join } from 'node:path';
import type { Git } from '../git/git.ts';
import type { MergeOutcome, Merger } from '../git/merging.ts';
import { mergeInCheckout } from '../git/merging-checkout.ts';
import type { HandedMerge } from '../git/open-merge.ts';
import { type Operation, operationInProgress } from '../git/operation.ts';
import { branchTip, isAncestor } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { findMisplacedWork } from '../git/work-place.ts';
import { inspectWorktree } from '../git/worktree-faults.ts';
import type { Paths } from '../platform/paths.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { SessionRecord } from '../sessions/record.ts';
import type { EntryRecord } from './entry-table.ts';
import type { HandBackRecord } from './hand-back-table.ts';
import { ontoOf } from './hand-back-words.ts';
import { scratchFolders } from './scratch-folders.ts';

/** One hand-back at one moment, with what it takes to look at it. */
export interface Look {
  entry: EntryRecord;
  row: HandBackRecord;
  session: SessionRecord;
  repository: Repository;
  merger: Merger;
  /** git in the session's worktree, as its person. */
  work: Git;
}

/** What is due at once after a step; undefined: nothing, until something changes. */
export type Due = Look | undefined;

/** The merge that is begun in the worktree. Pure. */
export function mergeOf({ entry, row, session }: Look): HandedMerge {
  const message = `Merge ${ontoOf(entry)} into ${session.branch}`;
  return { tip: row.tip, base: row.base_commit, message };
}

/**
 * What a merge of `base` into the branch, as it was handed back, comes to; outside the worktree.
 * @throws whatever keeps git from merging
 */
export async function foretellMerge(
  { entry, row, merger }: Look,
  base: string,
  paths: Paths,
): Promise<Exclude<MergeOutcome, { kind: 'infrastructure' }>> {
  const sides = { ours: row.tip, theirs: base };
  let merged = await merger.merge(sides);
  if (merged.kind === 'needs-worktree') {
    const folder = join(scratchFolders(paths).merges, `hand-back-${entry.id}`);
    merged = await mergeInCheckout(merger.repository, sides, folder);
  }
  if (merged.kind === 'infrastructure') throw merged.cause ?? new FairleadError('git.failed', merged.text);
  return merged;
}

/** Why the worktree is no place to merge in, as a sentence. */
export async function misplacedIn({ repository, session }: Look): Promise<string | undefined> {
  const misplaced = await findMisplacedWork(repository, session);
  if (misplaced !== undefined) return `${misplaced.message} ${misplaced.hint}`;
  const fault = inspectWorktree(repository, session.worktree, session.branch);
  if (fault === undefined) return undefined;
  return fault.kind === 'folder-missing'
    ? `Its worktree ${session.worktree} is gone.`
    : `${session.worktree} is no worktree of this repository any more.`;
}

/** What the worktree is in the middle of. */
export async function operationIn({ work }: Look): Promise<Operation | undefined> {
  return operationInProgress(await work.text(['rev-parse', '--absolute-git-dir']));
}

/** Whether the branch has the commit of the base. */
export async function hasBase({ repository, session, row }: Look): Promise<boolean> {
  const tip = await branchTip(repository.git, session.branch);
  return tip !== undefined && (await isAncestor(repository.git, row.base_commit, tip));
}
