import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { mkdir, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join, resolve as resolvePath } from 'node:path';
import { sleep } from '../platform/clock.ts';
import { readTextFile } from '../platform/regular-file.ts';
import { quoteWord } from '../platform/shell.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import * as z from '../protocol/zod.ts';
import type { Git } from './git.ts';
import { joinNul, pathOnDisk } from './names.ts';
import { operationInProgress } from './operation.ts';
import { withPrivateIndex } from './private-index.ts';
import { readRef, requireBranchName, resolveCommit, updateRef } from './refs.ts';
import { isRepositoryThere, type Repository } from './repository.ts';
import { changedPaths, readStatus } from './status.ts';
import { listWorktrees } from './worktree-list.ts';

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

/** What is wrong with a worktree; `undefined` in {@link inspectWorktree} says nothing is. */
export type WorktreeFault =
  /** The repository itself is not where it was. */
  | { kind: 'repository-missing' }
  | { kind: 'folder-missing' }
  /** `.git` is missing or is a folder: a git command in here would reach another repository. */
  | { kind: 'not-a-worktree' }
  | { kind: 'points-elsewhere'; to: string }
  | { kind: 'not-registered' }
  | { kind: 'other-branch' /** Undefined: detached. */; branch: string | undefined };

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
 * Whether an agent may be started in `folder`: it has a `.git` file that points into this repository, which knows
 * it under this path, and stands on `branch`. Reads files only.
 */
export function inspectWorktree(
  repository: Pick<Repository, 'commonDir'>,
  folder: string,
  branch: string,
): WorktreeFault | undefined {
  if (!isRepositoryThere(repository.commonDir)) return { kind: 'repository-missing' };
  if (!isFolder(folder)) return { kind: 'folder-missing' };
  const dotGit = join(folder, '.git');
  const link = lstatSync(dotGit, { throwIfNoEntry: false })?.isFile() ? readFileSync(dotGit, 'utf8') : '';
  const target = /^gitdir: (.*)\n*$/s.exec(link)?.[1]?.replace(/\n+$/, '');
  if (target === undefined) return { kind: 'not-a-worktree' };
  const admin = realpathOr(resolvePath(folder, target));
  if (dirname(admin) !== join(repository.commonDir, 'worktrees'))
    return { kind: 'points-elsewhere', to: admin };
  const registered = readOr(join(admin, 'gitdir'));
  if (registered === undefined || realpathOr(resolvePath(admin, registered)) !== realpathOr(dotGit)) {
    return { kind: 'not-registered' };
  }
  const head = readOr(join(admin, 'HEAD')) ?? '';
  const on = /^ref: refs\/heads\/(.*)$/.exec(head)?.[1];
  if (on === branch) return undefined;
  return { kind: 'other-branch', branch: on !== undefined && isBranchName(on) ? on : undefined };
}

/** Whether git would take it as a branch: the file may hold anything. Source: git-check-ref-format(1). */
function isBranchName(name: string): boolean {
  if (name === '' || name.startsWith('-') || name.endsWith('/') || name.endsWith('.')) return false;
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\//.test(name)) return false;
  return name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'));
}

/** @throws FairleadError `worktree.broken` as {@link inspectWorktree} finds it; `repo.missing` */
export function requireWorktree(
  repository: Pick<Repository, 'commonDir'>,
  folder: string,
  branch: string,
): void {
  const fault = inspectWorktree(repository, folder, branch);
  if (fault !== undefined) throw brokenWorktree(repository, folder, fault, branch);
}

/**
 * As {@link requireWorktree}, on whatever branch it stands: an agent may switch branches in its own worktree.
 * @throws FairleadError `worktree.broken`, `repo.missing`
 */
export function requireOwnWorktree(
  repository: Pick<Repository, 'commonDir'>,
  folder: string,
  branch: string,
): void {
  const fault = inspectWorktree(repository, folder, branch);
  if (fault !== undefined && fault.kind !== 'other-branch') {
    throw brokenWorktree(repository, folder, fault, branch);
  }
}

function brokenWorktree(
  { commonDir }: Pick<Repository, 'commonDir'>,
  folder: string,
  fault: WorktreeFault,
  branch: string,
): FairleadError {
  const place = basename(commonDir) === '.git' ? dirname(commonDir) : commonDir;
  const sentence = {
    'repository-missing': `The repository ${place} is gone: it was moved or deleted.`,
    'folder-missing': `The worktree ${folder} is gone.`,
    'not-a-worktree': `${folder} has lost its .git file: git in it would work in another repository.`,
    'points-elsewhere': `${folder} belongs to another repository.`,
    'not-registered': `The repository does not know the worktree ${folder}.`,
    'other-branch': `${folder} does not stand on the branch "${branch}".`,
  }[fault.kind];
  const git = `git -C ${quoteWord(place)} worktree`;
  const hint = {
    'repository-missing': 'Move it back to its place, and everything goes on.',
    'folder-missing': `Move it back if it was moved; else make it anew, with what was committed: ${git} add -f -f ${quoteWord(folder)} ${branch}`,
    'not-a-worktree': `Repair it: ${git} repair ${quoteWord(folder)}`,
    'points-elsewhere': `Repair it: ${git} repair ${quoteWord(folder)}`,
    'not-registered': `Move what is in it away, then make it anew: ${git} add -f -f ${quoteWord(folder)} ${branch}`,
    'other-branch': `Go back to it: git -C ${quoteWord(folder)} switch ${quoteWord(branch)}`,
  }[fault.kind];
  const code = fault.kind === 'repository-missing' ? 'repo.missing' : 'worktree.broken';
  return new FairleadError(code, sentence, { hint, data: fault });
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
  const reason = readOr(join(admin, 'locked'));
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

/**
 * Whether the worktree could be removed: nothing in it is unsaved. One that is gone has nothing.
 * @throws FairleadError `archive.unsaved` naming the paths
 */
export async function requireSaved(repository: Repository, folder: string): Promise<void> {
  const admin = registrationOf(repository.commonDir, folder);
  if (admin !== undefined && existsSync(folder)) await refuseUnsaved(repository, folder, admin);
}

/** @throws FairleadError `archive.unsaved` */
async function refuseUnsaved(repository: Repository, folder: string, admin: string): Promise<void> {
  // Without its .git file, git would look at a repository around it instead.
  const fault = inspectWorktree(repository, folder, '');
  if (fault !== undefined && fault.kind !== 'other-branch') {
    throw brokenWorktree(repository, folder, fault, '');
  }
  const git = repository.git.in(folder);
  const operation = operationInProgress(admin);
  const unsaved = [...changedPaths(await readStatus(git)), ...(await hiddenChanges(git))];
  const unpushed = existsSync(join(admin, 'modules')) ? await submodulesWithOwnCommits(git) : [];
  const adrift = await commitsAdrift(git);
  if (unsaved.length === 0 && unpushed.length === 0 && adrift.length === 0 && operation === undefined) return;
  const what =
    operation !== undefined
      ? `a ${operation} is open`
      : unsaved.length > 0
        ? `${unsaved.length} ${unsaved.length === 1 ? 'path is' : 'paths are'} not committed`
        : adrift.length > 0
          ? `${adrift.length === 1 ? 'a commit is' : `${adrift.length} commits are`} on no branch (${adrift[0]})`
          : `the submodule ${unpushed[0]} has commits that are nowhere else`;
  const hint =
    operation !== undefined
      ? `Finish the ${operation}, or give it up.`
      : unsaved.length > 0
        ? undefined
        : adrift.length > 0
          ? `Keep them on a branch (git -C ${quoteWord(folder)} switch -c NAME), or throw them away yourself.`
          : 'Push them, or throw them away yourself.';
  throw new FairleadError('archive.unsaved', `${folder} has unsaved work: ${what}.`, {
    ...(hint === undefined ? {} : { hint }),
    data: { paths: [...unsaved, ...unpushed], operation: operation ?? null, commits: adrift },
  });
}

/** Changed files that `git status` was told to pass over (`assume-unchanged`, `skip-worktree`). */
async function hiddenChanges(git: Git): Promise<string[]> {
  return withPrivateIndex(git, async (root, env) => {
    const hidden = (await root.fields(['ls-files', '-v', '-z']))
      .filter((entry) => /^[a-zS]/.test(entry))
      .map((entry) => entry.slice(2))
      // Outside a sparse checkout there is nothing to lose.
      .filter((path) => lstatSync(pathOnDisk(root.folder, path), { throwIfNoEntry: false }) !== undefined);
    if (hidden.length === 0) return [];
    for (const flag of ['--no-assume-unchanged', '--no-skip-worktree']) {
      await root.run(['update-index', flag, '-z', '--stdin'], { input: joinNul(hidden), env });
    }
    // A file that was only touched is no change.
    await root.attempt(['update-index', '-q', '--refresh'], { env });
    return root.fields(['diff-files', '--name-only', '-z'], { env });
  });
}

/** Commits that are named in a message. */
const MAX_ADRIFT = 20;

/** Commits at a detached HEAD that no ref has: they go with the worktree. Newest first, abbreviated, with subject. */
async function commitsAdrift(git: Git): Promise<string[]> {
  const head = await git.attempt(['symbolic-ref', '--quiet', 'HEAD']);
  if (head.exitCode === 0) return [];
  return git.lines(['log', `--max-count=${MAX_ADRIFT}`, '--format=%h %s', 'HEAD', '--not', '--glob=refs/*']);
}

/** Submodules whose repository goes with the worktree and holds commits that no remote has. */
async function submodulesWithOwnCommits(git: Git): Promise<string[]> {
  const entries = await git.fields(['ls-files', '--stage', '-z']);
  const found: string[] = [];
  for (const entry of entries.filter((each) => each.startsWith('160000 '))) {
    const path = entry.slice(entry.indexOf('\t') + 1);
    const folder = join(git.folder, path);
    if (!existsSync(join(folder, '.git'))) continue;
    const own = await git
      .in(folder)
      .text(['rev-list', '--max-count=1', 'HEAD', '--branches', '--not', '--remotes']);
    if (own !== '') found.push(path);
    for (const inner of await submodulesWithOwnCommits(git.in(folder))) found.push(`${path}/${inner}`);
  }
  return found;
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
      .map((name) => readOr(join(gitDir, name))?.replace(/^refs\/heads\//, ''))
      .includes(branch);
    if (standsOn === branch || busy) {
      found.push({ folder: path, gitDir, busy, missing: !existsSync(join(path, '.git')) });
    }
  }
  return found;
}

/** Folder → private git folder, as written down. */
function registrations(commonDir: string): Map<string, string> {
  const parent = join(commonDir, 'worktrees');
  const names = existsSync(parent) ? readdirSync(parent) : [];
  return new Map(
    names.flatMap((name) => {
      const admin = join(parent, name);
      const dotGit = readOr(join(admin, 'gitdir'));
      return dotGit === undefined ? [] : [[dirname(resolvePath(admin, dotGit)), admin]];
    }),
  );
}

/** The private git folder that git keeps for a worktree at `folder`, whether or not that still exists. */
export function registrationOf(commonDir: string, folder: string): string | undefined {
  // The folder itself may be gone, or reached over a symbolic link.
  const real = realpathOr(folder);
  const names = [folder, real, join(realpathOr(dirname(real)), basename(folder))];
  for (const [at, admin] of registrations(commonDir)) if (names.includes(at)) return admin;
  return undefined;
}

/** Forgets one worktree; `git worktree prune` would forget those of others too. */
async function removeRegistration(admin: string): Promise<void> {
  await rm(admin, { recursive: true, force: true });
  try {
    await rmdir(dirname(admin));
  } catch {
    // Others are registered; git removes the folder with the last one, as we do.
  }
}

export async function branchTip(git: Git, branch: string): Promise<string | undefined> {
  return readRef(git, `refs/heads/${branch}`);
}

function isOccupied(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  return !stat.isDirectory() || readdirSync(folder).length > 0;
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The file's text without the newline at its end; undefined when it cannot be read. */
function readOr(file: string): string | undefined {
  try {
    return readTextFile(file).replace(/\n$/, '');
  } catch {
    return undefined;
  }
}

function realpathOr(path: string): string {
  try {
    // At every look at every session: a single call, where the other one asks the system for each part of the path.
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
