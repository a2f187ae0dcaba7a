import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sleep } from '../platform/clock.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import * as z from '../protocol/zod.ts';
import type { Git } from './git.ts';
import { requireBranchName, resolveCommit, updateRef } from './refs.ts';
import type { Repository } from './repository.ts';
import { refuseUnsaved } from './unsaved-work.ts';
import { readAdminFile, registrationOf, removeRegistration } from './worktree-registration.ts';

export interface NewWorktree {
  /** Absolute path of a folder that does not exist yet, or is empty. */
  folder: string;
  /** Short name of the branch to create. */
  branch: string;
  /** Anything that names a commit; resolved before anything is made. */
  from: string;
  /** Shown by `git worktree list` and to whoever tries to remove it. */
  lockReason: string;
  signal?: AbortSignal | undefined;
}

export interface Worktree {
  /** Symbolic links resolved. */
  folder: string;
  branch: string;
  /** The commit that the branch was made at. */
  commit: string;
  /** Its private git folder. */
  gitDir: string;
}

/**
 * Makes a branch and a locked worktree that stands on it. When that fails, neither branch nor folder nor
 * registration is left; after a crash in the middle {@link discardWorktree} does the same.
 * @throws FairleadError `base.missing`, `branch.taken`, `branch.namespace-taken`, `params.invalid`, `disk.full`,
 * `worktree.failed`
 */
export async function addWorktree(repository: Repository, request: NewWorktree): Promise<Worktree> {
  const { git } = repository;
  const commit = await resolveCommit(git, request.from);
  if (commit === undefined) {
    throw new FairleadError('base.missing', `There is no commit called "${request.from}".`, {
      hint: 'Name a branch, a tag or a commit that exists: git branch --all',
    });
  }
  await requireBranchName(git, request.branch);
  if (isOccupied(request.folder)) {
    throw new FairleadError('worktree.failed', `The folder ${request.folder} exists and is not empty.`, {
      hint: 'Move it away, or choose another name.',
    });
  }
  const ref = `refs/heads/${request.branch}`;
  const created = await updateRef(
    git,
    { ref, to: commit, from: undefined },
    `branch: Created from ${request.from}`,
  );
  if (created.kind === 'lost') {
    throw new FairleadError('branch.taken', `The branch "${request.branch}" exists already.`, {
      hint: 'Choose another name.',
    });
  }
  try {
    await mkdir(dirname(request.folder), { recursive: true });
    request.signal?.throwIfAborted();
    // A git that is killed may leave the lock of a ref behind. What can be cancelled writes no ref: only the files.
    const registered = ['--quiet', '--lock', '--reason', request.lockReason, '--no-checkout'];
    await git.run(['worktree', 'add', ...registered, '--', request.folder, request.branch]);
    await git.in(request.folder).run(['read-tree', '--reset', '-u', '--no-recurse-submodules', 'HEAD'], {
      config: { 'checkout.workers': '0' },
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
    const folder = realpathSync(request.folder);
    const gitDir = realpathSync(await git.in(folder).text(['rev-parse', '--absolute-git-dir']));
    return { folder, branch: request.branch, commit, gitDir };
  } catch (error) {
    await discardWorktree(repository, { folder: request.folder, branch: request.branch, commit });
    request.signal?.throwIfAborted();
    if (error instanceof FairleadError && error.code !== 'git.failed') throw error;
    throw new FairleadError('worktree.failed', `The worktree ${request.folder} could not be made.`, {
      hint: 'See the cause, put it right and try again.',
      data: error instanceof FairleadError ? error.data : undefined,
      cause: error,
    });
  }
}

/**
 * Takes back a worktree that nobody has worked in, however far its making came: folder, registration, and the branch
 * if it still stands where it was made. Idempotent. Everything in the folder is lost.
 * @throws FairleadError {@link isBranchLeft} when the branch stays; whatever keeps the folder from being removed
 */
export async function discardWorktree(
  repository: Repository,
  made: { folder: string; branch: string; commit: string },
): Promise<void> {
  await discardFolder(repository, made.folder);
  const change = { ref: `refs/heads/${made.branch}`, to: undefined, from: made.commit };
  for (let again = 0; ; again += 1) {
    try {
      await updateRef(repository.git, change, 'discarded');
      return;
    } catch (error) {
      // Another git that writes beside it holds a lock for a moment: a branch that stays is nobody's.
      if (again === LOCK_TRIES) {
        throw new FairleadError(
          'worktree.failed',
          `The branch ${made.branch} could not be taken back: ${messageOf(error)}`,
          {
            hint: 'See the cause, put it right and try again.',
            data: { branchLeft: made.branch },
            cause: error,
          },
        );
      }
      await sleep(LOCK_MS);
    }
  }
}

const BranchLeft = z.object({ branchLeft: z.string() });

/** Whether of a worktree that could not be made, or taken back, its branch is there still. */
export function isBranchLeft(error: unknown): boolean {
  return error instanceof FairleadError && BranchLeft.safeParse(error.data).success;
}

/** How often, and how long after each other in milliseconds, a ref that cannot be locked is tried again. */
const LOCK_TRIES = 20;
const LOCK_MS = 50;

/** Removes a worktree of ours with everything in it, and its registration, however far its making came. Idempotent. */
export async function discardFolder(
  repository: Pick<Repository, 'commonDir'>,
  folder: string,
): Promise<void> {
  const admin = registrationOf(repository.commonDir, folder);
  await rm(folder, { recursive: true, force: true });
  if (admin !== undefined) await removeRegistration(admin);
}

/**
 * Removes a worktree in which nothing is unsaved, locked or not; ignored files go with it. The branch stays. One
 * whose folder is already gone is unregistered. Idempotent.
 * @throws FairleadError `archive.unsaved` naming the paths, `worktree.broken`, `worktree.failed`
 */
export async function removeWorktree(repository: Repository, folder: string): Promise<void> {
  const admin = registrationOf(repository.commonDir, folder);
  if (!existsSync(folder)) {
    if (admin !== undefined) await removeRegistration(admin);
    return;
  }
  if (admin === undefined) {
    throw new FairleadError('worktree.failed', `${folder} is not a worktree of this repository.`, {
      hint: 'Look at it, and remove it by hand if nothing in it is needed.',
    });
  }
  await refuseUnsaved(repository, folder, admin);
  const reason = readAdminFile(join(admin, 'locked'));
  if (reason !== undefined) await unlockWorktree(repository.git, folder);
  // git refuses any worktree with submodules, clean or not; what is in them was looked at above.
  const force = existsSync(join(admin, 'modules')) ? ['--force'] : [];
  const removed = await repository.git.attempt(['worktree', 'remove', ...force, '--', folder]);
  if (removed.exitCode === 0) return;
  // Something was put into the private git folder meanwhile; without the worktree it is of no use.
  if (!existsSync(folder)) return removeRegistration(admin);
  if (reason !== undefined && existsSync(admin)) await lockWorktree(repository.git, folder, reason);
  // Somebody may have written a file since the look above.
  await refuseUnsaved(repository, folder, admin);
  throw new FairleadError('worktree.failed', `The worktree ${folder} could not be removed.`, {
    hint: 'Close what uses it and try again.',
    data: { stderr: removed.stderr },
  });
}

/** Locks it against `git worktree prune` and `remove`. One that is locked stays as it is. */
export async function lockWorktree(git: Git, folder: string, reason: string): Promise<void> {
  const output = await git.attempt(['worktree', 'lock', '--reason', reason, '--', folder]);
  if (output.exitCode !== 0 && !output.stderr.includes('already locked')) {
    throw new FairleadError('worktree.failed', `The worktree ${folder} could not be locked.`, {
      data: { stderr: output.stderr },
    });
  }
}

export async function unlockWorktree(git: Git, folder: string): Promise<void> {
  const output = await git.attempt(['worktree', 'unlock', '--', folder]);
  if (output.exitCode !== 0 && !output.stderr.includes('is not locked')) {
    throw new FairleadError('worktree.failed', `The worktree ${folder} could not be unlocked.`, {
      data: { stderr: output.stderr },
    });
  }
}

function isOccupied(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  return !stat.isDirectory() || readdirSync(folder).length > 0;
}
