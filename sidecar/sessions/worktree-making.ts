import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bringChanges, copyFiles } from '../environments/copies.ts';
import { branchExists } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { registrationOf } from '../git/worktree-registration.ts';
import { addWorktree, discardWorktree } from '../git/worktrees.ts';
import type { SessionContext } from './context.ts';
import { type Report, UNHEARD } from './progress.ts';
import type { SessionRecord } from './record.ts';
import { keepOutOfStatus } from './worktree-place.ts';
import { writeError } from './write-error.ts';

/**
 * Makes the worktree that was planned. After a crash it is called `again`: what was half made is cleared first. A
 * worktree in which an agent may already have worked is never made anew.
 * @throws FairleadError `worktree.failed`, `disk.full`, `branch.taken`, the reason of `signal`: nothing half-made is left
 */
export async function makeWorktree(
  context: SessionContext,
  record: SessionRecord,
  repository: Repository,
  { again = false, signal, report = UNHEARD }: { again?: boolean; signal?: AbortSignal; report?: Report },
): Promise<SessionRecord> {
  if (record.git_dir !== null) return record;
  if (again) await clearHalfMade(repository, record);
  const config = context.configFor(context.table.repository(record.repository).main);
  try {
    keepOutOfStatus(repository, record.worktree);
  } catch (error) {
    throw await writeError(error, record, repository);
  }
  report('Making branch and worktree');
  const worktree = await addWorktree(repository, {
    folder: record.worktree,
    branch: record.branch,
    from: record.base_commit,
    lockReason: `Fairlead session ${record.id}`,
    signal,
  }).catch(async (error: unknown) => {
    throw await writeError(error, record, repository);
  });
  context.step?.('worktree-made');
  try {
    signal?.throwIfAborted();
    report('Copying files');
    if (repository.mainCheckout !== undefined) {
      await copyFiles(repository, worktree.folder, config.worktree.copy);
    }
    if (record.bring_changes) await bringChanges(repository, worktree.folder);
  } catch (error) {
    await discardWorktree(repository, { ...worktree });
    throw await writeError(error, record, repository);
  }
  const folder = existsSync(join(worktree.folder, record.folder)) ? record.folder : '';
  // The last effect: before it the worktree counts as half-made and is made again.
  const patch = { git_dir: worktree.gitDir, worktree: worktree.folder, folder };
  context.table.update(record.id, patch);
  return { ...record, ...patch };
}

/** A crash may have left a branch at the base, a folder, a registration. None of it holds work yet. */
async function clearHalfMade(repository: Repository, record: SessionRecord): Promise<void> {
  const ours = registrationOf(repository.commonDir, record.worktree) !== undefined;
  if (!ours && !(await branchExists(repository.git, record.branch))) return;
  await discardWorktree(repository, {
    folder: record.worktree,
    branch: record.branch,
    commit: record.base_commit,
  });
}
