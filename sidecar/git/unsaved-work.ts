import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { quoteWord } from '../platform/shell.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { Git } from './git.ts';
import { joinNul, pathOnDisk } from './names.ts';
import { operationInProgress } from './operation.ts';
import { withPrivateIndex } from './private-index.ts';
import type { Repository } from './repository.ts';
import { changedPaths, readStatus } from './status.ts';
import { requireOwnWorktree } from './worktree-faults.ts';
import { registrationOf } from './worktree-registration.ts';

/**
 * Whether the worktree could be removed: nothing in it is unsaved. One that is gone has nothing.
 * @throws FairleadError `archive.unsaved` naming the paths
 */
export async function requireSaved(repository: Repository, folder: string): Promise<void> {
  const admin = registrationOf(repository.commonDir, folder);
  if (admin !== undefined && existsSync(folder)) await refuseUnsaved(repository, folder, admin);
}

/**
 * As {@link requireSaved}, of a worktree that is there, with its private git folder.
 * @throws FairleadError `archive.unsaved`, `worktree.broken`, `repo.missing`
 */
export async function refuseUnsaved(repository: Repository, folder: string, admin: string): Promise<void> {
  // Without its .git file, git would look at a repository around it instead.
  requireOwnWorktree(repository, folder, '');
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
