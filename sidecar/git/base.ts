import { FairleadError } from '../protocol/errors.ts';
import type { Git } from './git.ts';
import { aheadBehind, readRef, resolveCommit } from './refs.ts';
import type { RemoteTrouble } from './remote-trouble.ts';
import { fetchRef, lastFetch, type NetworkOptions } from './remotes.ts';
import { type Repository, requireCommit } from './repository.ts';

/** The branch of a remote that a local branch follows. */
export interface Upstream {
  remote: string;
  /** Full name on the remote, as `refs/heads/main`. */
  ref: string;
  /** Full name of the remote-tracking ref, as `refs/remotes/origin/main`. */
  tracking: string;
}

/** Where a session starts, and where its work goes. */
export interface Base {
  /** Short name of the local branch that the work lands on. */
  branch: string;
  /** The commit to start from. */
  commit: string;
  /** What `commit` was read from: the branch itself, or its upstream when that is strictly ahead. */
  from: string;
  /** Undefined when the branch follows nothing, or another local branch. */
  upstream: Upstream | undefined;
  /** Commits of the local branch that the upstream lacks; 0 without an upstream. */
  ahead: number;
  /** Set when there is an upstream that could not be fetched. */
  stale:
    | {
        why: RemoteTrouble | 'missing-ref';
        text: string /** Milliseconds since the epoch. */;
        lastFetch: number | undefined;
      }
    | undefined;
}

export interface FindBaseOptions extends NetworkOptions {
  /** Hears of the branch that is asked for, and of the remote that is asked, before that is waited for. */
  fetching?: (branch: string, remote: string) => void;
}

/**
 * The base of a new session. Without a name: the branch checked out in the folder that the repository was opened
 * from. The upstream is fetched first; when that fails the base is what is known here, and `stale` says so.
 * @throws FairleadError `repo.no-commit`, `repo.detached-head`, `base.missing`
 */
export async function findBase(
  repository: Repository,
  name: string | undefined,
  { fetching, ...options }: FindBaseOptions = {},
): Promise<Base> {
  const branch =
    name === undefined ? await checkedOutBranch(repository) : await localBranch(repository, name);
  const ref = `refs/heads/${branch}`;
  const upstream = await upstreamOf(repository.git, branch);
  if (upstream !== undefined) fetching?.(branch, upstream.remote);
  const fetched = upstream === undefined ? undefined : await fetchRef(repository, upstream, options);
  const local = await readRef(repository.git, ref);
  if (local === undefined) throw missingBase(branch);
  const base = { branch, upstream };
  const stale =
    upstream === undefined || fetched === undefined || fetched.kind === 'ok'
      ? undefined
      : {
          why: fetched.kind,
          text: fetched.kind === 'missing-ref' ? `The remote has no ${upstream.ref}.` : fetched.text,
          lastFetch: lastFetch(repository, upstream.remote),
        };
  const followed = upstream === undefined ? undefined : await readRef(repository.git, upstream.tracking);
  if (upstream === undefined || followed === undefined) {
    return { ...base, commit: local, from: ref, ahead: 0, stale };
  }
  const { ahead, behind } = await aheadBehind(repository.git, followed, local);
  const strictlyAhead = ahead === 0 && behind > 0;
  return strictlyAhead
    ? { ...base, commit: followed, from: upstream.tracking, ahead, stale }
    : { ...base, commit: local, from: ref, ahead, stale };
}

/** What a local branch follows on a remote; undefined when it follows nothing or another local branch. */
export async function upstreamOf(git: Git, branch: string): Promise<Upstream | undefined> {
  const ref = `refs/heads/${branch}`;
  const lines = await git.lines([
    'for-each-ref',
    '--format=%(refname)%00%(upstream:remotename)%00%(upstream:remoteref)%00%(upstream)',
    ref,
  ]);
  const line = lines.find((each) => each.startsWith(`${ref}\0`));
  const [, remote = '', remoteRef = '', tracking = ''] = line?.split('\0') ?? [];
  if (remote === '' || remote === '.' || remoteRef === '' || tracking === '') return undefined;
  return { remote, ref: remoteRef, tracking };
}

/** @throws FairleadError `repo.no-commit`, `repo.detached-head` */
async function checkedOutBranch(repository: Repository): Promise<string> {
  const head = await requireCommit(repository.git.in(repository.topLevel));
  if (head.branch !== undefined) return head.branch;
  throw new FairleadError(
    'repo.detached-head',
    `${repository.topLevel} stands on no branch (detached HEAD).`,
    {
      hint: 'Switch to a branch (git switch main), or name the base: --base main',
      data: { commit: head.commit },
    },
  );
}

/** A name that a person gave: a local branch, or the branch of a remote, for which the local one is looked up. */
async function localBranch(repository: Repository, name: string): Promise<string> {
  const { git } = repository;
  const short = name.replace(/^refs\/heads\//, '');
  if ((await readRef(git, `refs/heads/${short}`)) !== undefined) return short;
  const remoteName = name.replace(/^refs\/remotes\//, '');
  if ((await readRef(git, `refs/remotes/${remoteName}`)) !== undefined) {
    const own = remoteName.slice(remoteName.indexOf('/') + 1);
    const followed = (await readRef(git, `refs/heads/${own}`)) && (await upstreamOf(git, own));
    if (followed && followed.tracking === `refs/remotes/${remoteName}`) return own;
  }
  throw missingBase(name, (await resolveCommit(git, name)) !== undefined);
}

function missingBase(name: string, isCommit = false): FairleadError {
  return isCommit
    ? new FairleadError('base.missing', `"${name}" is no local branch; work cannot land on it.`, {
        hint: `Make a branch of it: git branch NAME ${name}`,
      })
    : new FairleadError('base.missing', `There is no branch "${name}".`, {
        hint: 'Name a branch that exists: git branch --all',
      });
}
