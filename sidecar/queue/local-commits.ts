import type { Git } from '../git/git.ts';
import { readRef } from '../git/refs.ts';

/**
 * How many commits of the local base `head` was built on that the remote's base lacks: they would land along.
 * @param remoteBase what the remote's base is known to be
 */
export async function localCommits(
  git: Git,
  base: string,
  head: string,
  remoteBase: string,
): Promise<number> {
  const local = await readRef(git, `refs/heads/${base}`);
  if (local === undefined) return 0;
  const shared = await git.attempt(['merge-base', '--all', local, head]);
  if (shared.exitCode !== 0) return 0;
  const common = shared.stdout.toString('utf8').trim().split('\n');
  return Number(await git.text(['rev-list', '--count', ...common, '--not', remoteBase]));
}
