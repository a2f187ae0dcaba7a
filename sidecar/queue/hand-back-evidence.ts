import { branchTip } from '../git/refs.ts';
import { readResolution } from '../git/resolution.ts';
import { readStatus } from '../git/status.ts';
import type { Paths } from '../platform/paths.ts';
import { foretellMerge, type Look, misplacedIn, operationIn } from './hand-back-look.ts';
import type { Evidence } from './hand-back-verdict.ts';

/** Reads from git how a conflict stands that was handed back. */
export async function readEvidence(look: Look, paths: Paths): Promise<Evidence> {
  const { row, session, repository, work } = look;
  const result = await branchTip(repository.git, session.branch);
  const misplaced = await misplacedIn(look);
  const elsewhere = { result, misplaced, isMergeOpen: false, uncommitted: [] };
  if (result === undefined) return { ...elsewhere, resolution: undefined };
  const merged = await foretellMerge(look, row.base_commit, paths);
  const resolution = await readResolution(repository.git, {
    tip: row.tip,
    base: row.base_commit,
    merged: 'tree' in merged ? merged.tree : row.tip,
    paths: row.paths,
    result,
  });
  if (misplaced !== undefined) return { ...elsewhere, resolution };
  const operation = await operationIn(look);
  const { staged, unstaged, unmerged } = await readStatus(work, { untracked: 'no' });
  const uncommitted = [...new Set([...unmerged, ...unstaged, ...staged])].sort();
  const isMergeOpen = operation === 'merge';
  const inOther =
    operation === undefined || isMergeOpen ? undefined : `A ${operation} is open in the worktree.`;
  return { result, misplaced: inOther, isMergeOpen, uncommitted, resolution };
}
