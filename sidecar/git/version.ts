import { compareVersions } from '../platform/build.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { Git } from './git.ts';

/** Oldest git that sessions work with: `worktree list -z` came with it. Source: release notes of 2.36. */
export const SESSIONS_NEED_GIT = '2.36.0';
/** Oldest git that can land: `merge-tree --write-tree` came with it. Source: release notes of 2.38. */
export const LANDING_NEEDS_GIT = '2.38.0';

/**
 * The version of git as `2.39.5`; what vendors add is left out.
 * @throws FairleadError `git.missing`
 */
export async function gitVersion(git: Git): Promise<string> {
  const text = await git.in('/').text(['version']);
  return /(\d+(?:\.\d+)+)/.exec(text)?.[1] ?? '0';
}

/**
 * @throws FairleadError `git.too-old` when git is older than `needed`; `git.missing`
 */
export async function requireGit(git: Git, needed: string, what: string): Promise<string> {
  const found = await gitVersion(git);
  if (!isAtLeast(found, needed)) {
    throw new FairleadError('git.too-old', `git ${found} is too old for ${what}; it needs ${needed}.`, {
      hint: 'Install a newer git, or put one first on your PATH.',
      data: { found, needed },
    });
  }
  return found;
}

/** Whether version `found` is `needed` or newer. */
export function isAtLeast(found: string, needed: string): boolean {
  return compareVersions(found, needed) >= 0;
}
