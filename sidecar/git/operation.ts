import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** What a checkout is in the middle of; commits and merges of ours have to wait for its end. */
export type Operation = 'merge' | 'rebase' | 'am' | 'cherry-pick' | 'revert' | 'bisect';

/**
 * The operation in progress in the checkout with this private git folder; undefined when there is none.
 * Reads the same files as `git status`. Source: git's `wt-status.c`.
 */
export function operationInProgress(gitDir: string): Operation | undefined {
  const has = (name: string) => existsSync(join(gitDir, name));
  if (has('rebase-apply/applying')) return 'am';
  if (has('rebase-apply') || has('rebase-merge')) return 'rebase';
  if (has('MERGE_HEAD')) return 'merge';
  if (has('CHERRY_PICK_HEAD')) return 'cherry-pick';
  if (has('REVERT_HEAD')) return 'revert';
  // Between two picks of a series neither HEAD file is there, only the list of what is left.
  if (has('sequencer/todo')) return 'cherry-pick';
  if (has('BISECT_START')) return 'bisect';
  return undefined;
}

/** Whether some git writes (or wrote, and died) the index of this checkout. */
export function isIndexLocked(gitDir: string): boolean {
  return existsSync(join(gitDir, 'index.lock'));
}
