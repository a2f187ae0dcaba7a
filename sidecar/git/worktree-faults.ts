import { lstatSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve as resolvePath } from 'node:path';
import { quoteWord } from '../platform/shell.ts';
import { FairleadError } from '../protocol/errors.ts';
import { isRepositoryThere, type Repository } from './repository.ts';
import { readAdminFile, realpathOr } from './worktree-registration.ts';

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
  const registered = readAdminFile(join(admin, 'gitdir'));
  if (registered === undefined || realpathOr(resolvePath(admin, registered)) !== realpathOr(dotGit)) {
    return { kind: 'not-registered' };
  }
  const head = readAdminFile(join(admin, 'HEAD')) ?? '';
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

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
