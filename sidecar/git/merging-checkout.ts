import { messageOf } from '../protocol/errors.ts';
import { gitFailure, tail } from './git.ts';
import type { MergeOutcome, MergeRequest } from './merging.ts';
import type { Repository } from './repository.ts';
import { discardFolder } from './worktrees.ts';

/**
 * Merges in a temporary worktree, for drivers that need the files. Slower by the time of a checkout. The worktree is
 * removed again; after a crash {@link discardFolder} does it. Never throws: what goes wrong is `infrastructure`.
 * @param folder absolute, must not exist
 */
export async function mergeInCheckout(
  repository: Repository,
  request: MergeRequest,
  folder: string,
): Promise<MergeOutcome> {
  try {
    await repository.git.run([
      'worktree',
      'add',
      '--quiet',
      '--detach',
      '--lock',
      '--reason',
      'Fairlead merges here',
      '--',
      folder,
      request.ours,
    ]);
    return await mergeIn(repository, request, folder);
  } catch (error) {
    return { kind: 'infrastructure', text: messageOf(error), cause: error };
  } finally {
    await discardFolder(repository, folder);
  }
}

async function mergeIn(repository: Repository, request: MergeRequest, folder: string): Promise<MergeOutcome> {
  const git = repository.git.in(folder);
  const args = [
    'merge',
    '--no-commit',
    '--no-ff',
    '--no-rerere-autoupdate',
    '--no-stat',
    '--',
    request.theirs,
  ];
  const output = await git.attempt(args, {
    config: { 'merge.conflictStyle': 'zdiff3', 'rerere.enabled': 'false', 'commit.gpgSign': 'false' },
    // A merge wants to know who would commit it, though nothing is.
    env: {
      GIT_AUTHOR_NAME: 'Fairlead',
      GIT_AUTHOR_EMAIL: 'fairlead@localhost',
      GIT_COMMITTER_NAME: 'Fairlead',
      GIT_COMMITTER_EMAIL: 'fairlead@localhost',
    },
    ...(request.signal === undefined ? {} : { signal: request.signal }),
    ...(request.timeoutMs === undefined ? {} : { timeoutMs: request.timeoutMs }),
  });
  if (output.exitCode === 0) return { kind: 'clean', tree: await git.text(['write-tree']) };
  if (output.stderr.includes('refusing to merge unrelated histories')) return { kind: 'unrelated' };
  const unmerged = new Set(
    (await git.fields(['ls-files', '--unmerged', '-z'])).map((entry) => entry.slice(entry.indexOf('\t') + 1)),
  );
  if (output.exitCode !== 1 || unmerged.size === 0) {
    return { kind: 'infrastructure', text: gitFailure(folder, args, output).message };
  }
  await git.run(['add', '--all', '.']);
  const messages = tail(output.stdout.toString('utf8'), 200)
    .split('\n')
    .flatMap((text) => {
      const kind = /^(CONFLICT \(.*?\))/.exec(text)?.[1];
      return kind === undefined ? [] : [{ kind, paths: [], text }];
    });
  return { kind: 'conflict', tree: await git.text(['write-tree']), paths: [...unmerged].sort(), messages };
}
