import { join } from 'node:path';
import { readTextFile } from '../platform/regular-file.ts';
import { quoteWord } from '../platform/shell.ts';
import { operationInProgress } from './operation.ts';
import { branchTip } from './refs.ts';
import type { Repository } from './repository.ts';
import { inspectWorktree } from './worktree-faults.ts';
import { registrationOf } from './worktree-registration.ts';

/** Why the work of a session is not where it would land from. */
export interface Misplaced {
  kind: 'branch-missing' | 'other-branch' | 'operation';
  /** One sentence. */
  message: string;
  /** What the person can do, imperative. */
  hint: string;
}

/**
 * Whether the branch of a session is there and its worktree, if there is one, stands on it; undefined when so. A folder
 * that is missing or belongs to something else is for the caller to look at.
 * @throws FairleadError `git.failed`
 */
export async function findMisplacedWork(
  repository: Repository,
  { branch, worktree, life }: { branch: string; worktree: string; life: string },
): Promise<Misplaced | undefined> {
  const { git } = repository;
  const fault = life === 'archived' ? undefined : inspectWorktree(repository, worktree, branch);
  const there = quoteWord(worktree);
  const isThere = (await branchTip(git, branch)) !== undefined;
  if (fault?.kind === 'other-branch') {
    const admin = registrationOf(repository.commonDir, worktree);
    const operation = admin === undefined ? undefined : operationInProgress(admin);
    if (operation !== undefined) {
      return {
        kind: 'operation',
        message: `A ${operation} is open in the worktree.`,
        hint: `End it, or give it up, in ${worktree}.`,
      };
    }
    const on = fault.branch;
    if (!isThere) {
      const message = `The branch ${branch} does not exist; its worktree stands on ${on ?? 'no branch'}.`;
      const rename = `git -C ${there} branch -m ${quoteWord(on ?? '')} ${quoteWord(branch)}`;
      const create = `git -C ${there} switch -c ${quoteWord(branch)}`;
      return {
        kind: 'branch-missing',
        message,
        hint: on === undefined ? `Make it where the work is: ${create}` : `Give it its name back: ${rename}`,
      };
    }
    const from = on ?? (await headOf(repository, worktree)) ?? 'HEAD@{1}';
    // The agent writes HEAD: its text is a name and no option.
    const tip = on === undefined ? from : `refs/heads/${on}`;
    const args = ['rev-list', '--max-count=1', '--end-of-options', tip, `^refs/heads/${branch}`];
    const ahead = await git.attempt(args);
    const isAhead = ahead.exitCode === 0 && ahead.stdout.length > 0;
    const back = `git -C ${there} switch ${quoteWord(branch)}`;
    return {
      kind: 'other-branch',
      message: `The worktree stands on ${on ?? 'no branch'}, not on ${branch}, and only that lands.`,
      hint: isAhead
        ? `Bring the work over: ${back} && git -C ${there} merge ${quoteWord(from)}`
        : `Go back to it: ${back}`,
    };
  }
  if (isThere) return undefined;
  const last = await lastCommit(repository, worktree);
  return {
    kind: 'branch-missing',
    message: `The branch ${branch} does not exist.`,
    hint:
      last === undefined
        ? 'Look for its commits with `git reflog`, and make a branch of this name there.'
        : `Make it where it was: git -C ${quoteWord(git.folder)} branch ${quoteWord(branch)} ${last}`,
  };
}

async function headOf(repository: Repository, worktree: string): Promise<string | undefined> {
  const head = await repository.git.in(worktree).attempt(['rev-parse', '--short', '--verify', 'HEAD']);
  return head.exitCode === 0 ? head.stdout.toString('utf8').trim() : undefined;
}

/** Where a worktree last stood, abbreviated: its reflog outlives the branch. */
async function lastCommit(repository: Repository, worktree: string): Promise<string | undefined> {
  const admin = registrationOf(repository.commonDir, worktree);
  if (admin === undefined) return undefined;
  let log: string;
  try {
    log = readTextFile(join(admin, 'logs', 'HEAD'));
  } catch {
    return undefined;
  }
  const id = log.trimEnd().split('\n').at(-1)?.split(' ')[1] ?? '';
  if (!/^[0-9a-f]{40,64}$/.test(id)) return undefined;
  const found = await repository.git.attempt([
    'rev-parse',
    '--short',
    '--verify',
    '--quiet',
    `${id}^{commit}`,
  ]);
  return found.exitCode === 0 ? found.stdout.toString('utf8').trim() : undefined;
}
