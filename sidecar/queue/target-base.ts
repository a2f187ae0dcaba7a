import { type Upstream, upstreamOf } from '../git/base.ts';
import type { Git } from '../git/git.ts';
import { isAncestor, readRef } from '../git/refs.ts';
import { causeIn, type RemoteTrouble, whyRemoteFailed } from '../git/remote-trouble.ts';
import { fetchRef } from '../git/remotes.ts';
import type { Repository } from '../git/repository.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord } from './entry-table.ts';
import { fails, type Outcome, RETRY_MS, waits } from './outcome.ts';

/** The base as it really is: of the remote, or of this clone. */
export interface TargetBase {
  kind: 'base';
  commit: string;
  /** Set when the base is the remote's. */
  upstream: Upstream | undefined;
}

/**
 * Reads the real base of an entry, whatever it was before.
 * @throws FairleadError `cancelled` when `signal` aborts while the remote is asked
 */
export function readTargetBase(
  entry: EntryRecord,
  repository: Repository,
  signal: AbortSignal,
): Promise<TargetBase | Outcome> {
  return entry.target === 'local'
    ? localBase(repository.git, entry.base)
    : remoteBase(repository, entry, signal);
}

/** As {@link readTargetBase}, and a base that lost what it had is refused. For each attempt anew. */
export async function followTargetBase(
  context: QueueContext,
  entry: EntryRecord,
  repository: Repository,
  signal: AbortSignal,
): Promise<TargetBase | Outcome> {
  const found = await readTargetBase(entry, repository, signal);
  if (found.kind !== 'base') return found;
  const seen = context.entries.baseSeen(entry.repository, entry.base, entry.target);
  if (seen !== undefined && seen !== found.commit && !(await contains(repository.git, found.commit, seen))) {
    return {
      kind: 'base-rewound',
      commit: found.commit,
      upstream: found.upstream,
      message: `${entry.base} no longer has ${seen.slice(0, 10)}, which it had before: somebody has rewound it. Land again if that is meant.`,
    };
  }
  context.entries.keepBaseSeen(entry.repository, entry.base, entry.target, found.commit);
  return found;
}

async function localBase(git: Git, base: string): Promise<TargetBase | Outcome> {
  const commit = await readRef(git, `refs/heads/${base}`);
  if (commit === undefined) return fails('base-missing', `The branch ${base} does not exist.`);
  return { kind: 'base', commit, upstream: undefined };
}

async function remoteBase(
  repository: Repository,
  entry: EntryRecord,
  signal: AbortSignal,
): Promise<TargetBase | Outcome> {
  const upstream = await upstreamOf(repository.git, entry.base);
  if (upstream === undefined) {
    return fails('base-missing', `${entry.base} follows no branch of a remote.`);
  }
  if (upstream.remote !== entry.remote) {
    return fails('base-missing', `${entry.base} follows ${upstream.remote} by now, not ${entry.remote}.`);
  }
  const fetched = await fetchRef(repository, upstream, { signal });
  if (fetched.kind === 'ok') return { kind: 'base', commit: fetched.commit, upstream };
  if (fetched.kind === 'missing-ref') {
    return fails(
      'base-missing',
      `${upstream.remote} has no branch ${upstream.ref.replace('refs/heads/', '')}.`,
    );
  }
  return remoteTrouble(upstream.remote, fetched.kind, fetched.text);
}

/** A remote that did not answer holds up nobody and costs no try. */
export function remoteTrouble(remote: string, trouble: RemoteTrouble, text: string): Outcome {
  const why = whyRemoteFailed(trouble, text);
  if (trouble === 'auth') {
    return waits('sign-in', `Sign in to ${remote}: ${causeIn(text) ?? why}.`, RETRY_MS.person, {
      demand: 'login',
    });
  }
  if (trouble === 'failed') return waits('infrastructure', `${remote}: ${why}.`, RETRY_MS.infrastructure);
  return waits('offline', `${remote} cannot be reached: ${why}.`, RETRY_MS.offline, {
    isTrouble: trouble === 'missing-repository',
  });
}

/** Whether `commit` has `ancestor` in its history; a commit that is gone from the repository is not. */
async function contains(git: Git, commit: string, ancestor: string): Promise<boolean> {
  return isAncestor(git, ancestor, commit).catch(() => false);
}
