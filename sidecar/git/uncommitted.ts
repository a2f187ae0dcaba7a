import { copyFile, open, readFile, realpath, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFoldersIn } from '../platform/folders.ts';
import { quoteWord } from '../platform/shell.ts';
import { FairleadError } from '../protocol/errors.ts';
import { type Git, gitFailure, isTimeout, tail } from './git.ts';
import { readIdentity } from './identity.ts';
import { isIndexLocked, type Operation, operationInProgress } from './operation.ts';
import { isSigningFailure, signingFailure } from './signing.ts';
import { changedPaths, readStatus } from './status.ts';

/** What became of the uncommitted work of a checkout. */
export type CommitAllOutcome =
  | { kind: 'committed'; commit: string; paths: string[] }
  | { kind: 'nothing' }
  /** A hook of the person (pre-commit, commit-msg, …) said no, or took too long. */
  | {
      kind: 'hook-failed';
      output: string /** Whether the index is as it was before. */;
      indexRestored: boolean;
    }
  | { kind: 'in-progress'; operation: Operation; paths: string[] }
  | { kind: 'unmerged'; paths: string[] }
  /** Repositories inside the checkout that git would store as a bare commit id, losing their files. */
  | { kind: 'nested-repository'; paths: string[] }
  /** Another git writes in this checkout, or died doing so. */
  | { kind: 'locked' };

export interface CommitAllRequest {
  /** Subject, and body after an empty line. */
  message: string;
  /**
   * The branch that the commit must go to. When given, `git` has to be bound to the root of the checkout: one that has
   * lost its `.git` file would commit to the repository around it.
   */
  branch?: string;
  /** How long the hooks may take; default 10 minutes. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/**
 * Commits everything in the checkout that is not ignored, as the person: their identity, hooks and signing. `git` is
 * bound to the checkout.
 * @throws FairleadError `git.no-identity`, `git.signing-failed`, `worktree.broken`, `git.failed`, `disk.full`
 */
export async function commitAll(git: Git, request: CommitAllRequest): Promise<CommitAllOutcome> {
  const status = await readStatus(git);
  if (request.branch !== undefined) await requirePlace(git, request.branch, status.branch);
  const gitDir = await git.text(['rev-parse', '--absolute-git-dir']);
  const paths = changedPaths(status);
  const operation = operationInProgress(gitDir);
  if (operation !== undefined) return { kind: 'in-progress', operation, paths };
  if (status.unmerged.length > 0) return { kind: 'unmerged', paths: status.unmerged };
  if (paths.length === 0) return { kind: 'nothing' };
  const nested = status.untracked.filter((path) => path.endsWith('/'));
  if (nested.length > 0) return { kind: 'nested-repository', paths: nested };
  if (isIndexLocked(gitDir)) return { kind: 'locked' };
  await readIdentity(git);

  const copy = await keepIndex(gitDir);
  try {
    return await stageAndCommit(git, gitDir, copy, paths, request);
  } finally {
    await rm(keptIndexOf(gitDir), { force: true });
  }
}

/** A branch in the middle of a rebase is detached, which is named as an operation in progress. */
async function requirePlace(git: Git, branch: string, standsOn: string | undefined): Promise<void> {
  const root = await git.text(['rev-parse', '--show-toplevel']);
  const isRoot = (await realpath(git.folder)) === (await realpath(root));
  if (isRoot && (standsOn === branch || standsOn === undefined)) {
    const gitDir = await git.text(['rev-parse', '--absolute-git-dir']);
    if (standsOn === branch || operationInProgress(gitDir) !== undefined) return;
  }
  throw new FairleadError(
    'worktree.broken',
    isRoot
      ? `${git.folder} does not stand on the branch "${branch}".`
      : `${git.folder} has lost its .git file: git in it would work in another repository.`,
    {
      hint: isRoot
        ? `Go back to it: git -C ${quoteWord(git.folder)} switch ${quoteWord(branch)}`
        : 'Repair it: git worktree repair',
    },
  );
}

async function stageAndCommit(
  git: Git,
  gitDir: string,
  copy: string | undefined,
  paths: string[],
  request: CommitAllRequest,
): Promise<CommitAllOutcome> {
  const root = git.in(await git.text(['rev-parse', '--show-toplevel']));
  const added = await root.attempt(['add', '--all', '--sparse', '.'], {
    config: { 'core.safecrlf': 'false' },
  });
  if (added.exitCode !== 0) {
    await restoreIndex(gitDir, copy);
    if (added.stderr.includes('index.lock')) return { kind: 'locked' };
    throw gitFailure(root.folder, ['add', '--all'], added);
  }
  const staged = await root.attempt(['diff-index', '--cached', '--quiet', 'HEAD']);
  // Changes that end up the same (line endings, a file mode that the file system cannot hold).
  if (staged.exitCode === 0) return { kind: 'nothing' };

  const before = await root.text(['rev-parse', 'HEAD']);
  const args = ['commit', '--quiet', '--cleanup=whitespace', '--file=-'];
  const { timeoutMs = 10 * 60_000, signal } = request;
  try {
    const output = await root
      .asPerson()
      .attempt(args, { input: request.message, timeoutMs, ...(signal === undefined ? {} : { signal }) });
    const after = await root.text(['rev-parse', 'HEAD']);
    // A failing post-commit hook comes too late to stop anything: what HEAD says counts.
    if (after !== before) return { kind: 'committed', commit: after, paths };
    const indexRestored = await restoreIndex(gitDir, copy);
    if (output.exitCode === 1) return { kind: 'hook-failed', output: hookOutput(output), indexRestored };
    if (output.stderr.includes('index.lock') || output.stderr.includes('cannot lock ref'))
      return { kind: 'locked' };
    if (isSigningFailure(output.stderr)) throw await signingFailure(root, args, output);
    throw gitFailure(root.folder, args, output);
  } catch (error) {
    if (!isTimeout(error)) throw error;
    const indexRestored = await restoreIndex(gitDir, copy);
    return { kind: 'hook-failed', output: `No answer after ${timeoutMs / 1000} seconds.`, indexRestored };
  }
}

function keptIndexOf(gitDir: string): string {
  return join(gitDir, 'fairlead', 'index-before-commit');
}

/** A copy of the index to go back to; undefined when there is no index. */
async function keepIndex(gitDir: string): Promise<string | undefined> {
  const index = join(gitDir, 'index');
  const copy = keptIndexOf(gitDir);
  makeFoldersIn(gitDir, 'fairlead');
  try {
    const { mtimeMs } = await stat(index);
    await copyFile(index, copy);
    // Under a later time, an entry that was written in the same tick as the index would count as unchanged.
    const time = (Math.floor(mtimeMs) - 1) / 1000;
    await utimes(copy, time, time);
    return copy;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Puts the kept index back under git's own lock. @returns false when another git holds that lock */
async function restoreIndex(gitDir: string, copy: string | undefined): Promise<boolean> {
  if (copy === undefined) return false;
  const lock = join(gitDir, 'index.lock');
  try {
    const file = await open(lock, 'wx');
    await file.writeFile(await readFile(copy));
    await file.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    await rm(lock, { force: true });
    throw error;
  }
  const { atimeMs, mtimeMs } = await stat(copy);
  await utimes(lock, atimeMs / 1000, mtimeMs / 1000);
  await rename(lock, join(gitDir, 'index'));
  return true;
}

function hookOutput(output: { stdout: Buffer; stderr: string }): string {
  return tail(
    [output.stdout.toString('utf8').trimEnd(), output.stderr].filter((text) => text !== '').join('\n'),
    40,
  );
}
