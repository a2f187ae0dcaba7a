import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from './repository.ts';
import { listWorktrees } from './worktree-list.ts';
import { readAdminFile, registrationOf, registrations } from './worktree-registration.ts';

/** A folder that moving a branch would pull the ground from under. */
export interface Checkout {
  folder: string;
  /** Its private git folder. */
  gitDir: string;
  /** In the middle of rebasing or bisecting the branch; `git worktree list` says detached then. */
  busy: boolean;
  /** Registered, but not there: removed by hand, moved, or on a disk that is not mounted. */
  missing: boolean;
}

/** Every folder that has `branch` checked out or is busy with it. */
export async function checkoutsOf(repository: Repository, branch: string): Promise<Checkout[]> {
  const gitDirs = registrations(repository.commonDir);
  const found: Checkout[] = [];
  const [main, ...linked] = await listWorktrees(repository.git);
  const all = [
    ...(main === undefined || repository.mainCheckout === undefined
      ? []
      : [{ ...main, path: repository.mainCheckout, gitDir: repository.commonDir }]),
    ...linked.map((worktree) => ({
      ...worktree,
      gitDir: gitDirs.get(worktree.path) ?? registrationOf(repository.commonDir, worktree.path),
    })),
  ];
  for (const { path, gitDir, branch: standsOn } of all) {
    if (gitDir === undefined) continue;
    const busy = ['rebase-merge/head-name', 'rebase-apply/head-name', 'BISECT_START']
      .map((name) => readAdminFile(join(gitDir, name))?.replace(/^refs\/heads\//, ''))
      .includes(branch);
    if (standsOn === branch || busy) {
      found.push({ folder: path, gitDir, busy, missing: !existsSync(join(path, '.git')) });
    }
  }
  return found;
}
