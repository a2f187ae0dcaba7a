import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFoldersIn } from '../platform/folders.ts';
import { FairleadError } from '../protocol/errors.ts';
import { type Git, type GitOutput, tail } from './git.ts';
import { isAncestor, readRef } from './refs.ts';
import { type RemoteTrouble, troubleOf } from './remote-trouble.ts';
import type { Repository } from './repository.ts';

export type FetchOutcome =
  | { kind: 'ok' /** What the branch is on the remote. */; commit: string }
  | { kind: 'missing-ref' }
  | { kind: RemoteTrouble; text: string };

/** What a push did. Only `landed` and `up-to-date` are success, and the caller still reads back. */
export type PushOutcome =
  | { kind: 'landed' }
  | { kind: 'up-to-date' }
  /** The ref on the remote is not (any more) the value seen: fetch and merge again. */
  | { kind: 'base-moved'; text: string }
  /** A rule or a hook on the other side says no, and would again. */
  | { kind: 'refused'; text: string }
  /** The pre-push hook of the person says no. */
  | { kind: 'local-hook'; text: string }
  /** The other side had trouble of its own. */
  | { kind: 'retry'; text: string }
  /** It is not known whether it arrived: ask with {@link fetchRef}. */
  | { kind: 'unreachable'; trouble: RemoteTrouble; text: string };

export interface RemoteRef {
  remote: string;
  /** Full name on the remote, as `refs/heads/main`. */
  ref: string;
}

export interface NetworkOptions {
  /** Default one minute; a push two. Time in which a person is asked does not count. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Ends only the questions to a person; default `signal`. For what must not be cut off once it goes on. */
  asking?: AbortSignal;
  /** On top of the environment: ssh agent, askpass. */
  env?: Readonly<Record<string, string>>;
}

const MINUTE = 60_000;

/**
 * Fetches one ref into its remote-tracking ref. A ref that is gone on the remote is left as it was last seen here.
 * @throws FairleadError `cancelled`
 */
export async function fetchRef(
  repository: Repository,
  from: RemoteRef & { /** Full name here, as `refs/remotes/origin/main`. */ tracking: string },
  options: NetworkOptions = {},
): Promise<FetchOutcome> {
  const { git } = repository;
  const output = await network(
    git,
    [
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-recurse-submodules',
      // A fetch that fails empties FETCH_HEAD, which tells people (and us) when the last one succeeded.
      '--no-write-fetch-head',
      '--end-of-options',
      from.remote,
      `+${from.ref}:${from.tracking}`,
    ],
    options,
  );
  if (typeof output === 'string') return { kind: 'offline', text: output };
  if (output.exitCode === 0) {
    const commit = await readRef(git, from.tracking);
    if (commit === undefined) return { kind: 'failed', text: `git fetch left no ${from.tracking}` };
    noteFetch(repository, from.remote);
    return { kind: 'ok', commit };
  }
  if (/couldn't find remote ref/i.test(output.stderr)) return { kind: 'missing-ref' };
  return { kind: troubleOf(output.stderr), text: tail(output.stderr) };
}

/**
 * Pushes `commit`, a descendant of `seen`, if the ref on the remote is still `seen` (undefined: does not exist yet):
 * an exact swap that can never rewind. The person's pre-push hook and push signing apply.
 * @throws FairleadError `internal` when `commit` does not descend from `seen`; `cancelled`
 */
export async function push(
  git: Git,
  to: RemoteRef & { commit: string; seen: string | undefined },
  options: NetworkOptions = {},
): Promise<PushOutcome> {
  if (to.seen !== undefined && !(await isAncestor(git, to.seen, to.commit))) {
    throw new FairleadError('internal', `A push of ${to.commit} would rewind ${to.ref}.`);
  }
  const output = await network(
    git.asPerson(),
    [
      'push',
      '--porcelain',
      '--no-follow-tags',
      `--force-with-lease=${to.ref}:${to.seen ?? ''}`,
      '--end-of-options',
      to.remote,
      `${to.commit}:${to.ref}`,
    ],
    { timeoutMs: 2 * MINUTE, ...options },
  );
  if (typeof output === 'string') return { kind: 'unreachable', trouble: 'offline', text: output };
  return classifyPush(output, to.ref);
}

/**
 * Pure: what `git push --porcelain` said about one ref. Source: git-push(1), "OUTPUT", and the tried table of
 * outcomes (lines ` `, `*`, `=`, `+`, `-`, `!`).
 */
export function classifyPush(output: GitOutput, ref: string): PushOutcome {
  const lines = output.stdout.toString('utf8').split('\n');
  const line = lines.find((each) => each.split('\t')[1]?.endsWith(`:${ref}`));
  const text = tail(output.stderr, 15) || (line?.split('\t')[2] ?? '');
  if (line === undefined) {
    if (output.exitCode === 1) return { kind: 'local-hook', text };
    return { kind: 'unreachable', trouble: troubleOf(output.stderr), text };
  }
  const summary = line.split('\t')[2] ?? '';
  const flag = line[0];
  if (flag === '=') return { kind: 'up-to-date' };
  if (flag !== '!') return output.exitCode === 0 ? { kind: 'landed' } : { kind: 'retry', text };
  if (summary.startsWith('[rejected]')) return { kind: 'base-moved', text: summary };
  if (summary.startsWith('[remote rejected]')) {
    const reason = summary.slice('[remote rejected]'.length);
    // The value changed between the greeting and the lock; git then says so on stderr only.
    const lostLater =
      /^remote: .*cannot lock ref '(.*)': (is at \w+ but expected|reference already exists)/m.exec(
        output.stderr,
      )?.[1] === ref;
    if (
      lostLater ||
      /but expected|incorrect old value|already exists|non-fast-forward|fetch first|stale info/.test(reason)
    ) {
      return { kind: 'base-moved', text: summary };
    }
    if (
      /failed to update ref|cannot lock ref|unpacker error|failed to write|internal|timeout|try again/i.test(
        reason,
      )
    ) {
      return { kind: 'retry', text: withRemoteText(summary, output.stderr) };
    }
    return { kind: 'refused', text: withRemoteText(summary, output.stderr) };
  }
  return { kind: 'unreachable', trouble: 'failed', text };
}

/**
 * When this clone last fetched from the remote with success, in milliseconds since the epoch; undefined when it
 * cannot be told.
 */
export function lastFetch(repository: Pick<Repository, 'commonDir'>, remote: string): number | undefined {
  const times = [noteOf(repository, remote), join(repository.commonDir, 'FETCH_HEAD')]
    .map((file) => statSync(file, { throwIfNoEntry: false }))
    // A fetch that failed leaves FETCH_HEAD empty.
    .flatMap((stat) => (stat === undefined || stat.size === 0 ? [] : [stat.mtimeMs]));
  return times.length === 0 ? undefined : Math.max(...times);
}

/** @returns the reason as text when there was no exit code: time-out or kill */
async function network(
  git: Git,
  args: readonly string[],
  options: NetworkOptions,
): Promise<GitOutput | string> {
  const { timeoutMs = MINUTE, signal, asking = signal, ...rest } = options;
  const deadline = git.setup.deadline?.(timeoutMs, asking);
  const signals = [signal, deadline?.signal].filter((each) => each !== undefined);
  try {
    return await git.attempt(args, {
      ...rest,
      ...(deadline === undefined ? { timeoutMs } : { env: { ...rest.env, ...deadline.env } }),
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
    });
  } catch (error) {
    if (signal?.aborted) throw new FairleadError('cancelled', 'Cancelled.', { cause: error });
    if (deadline?.signal.aborted) return `\`git ${args[0]}\` had no answer within ${timeoutMs / 1_000} s.`;
    if (error instanceof FairleadError && error.code === 'git.failed') return error.message;
    throw error;
  } finally {
    deadline?.end();
  }
}

function withRemoteText(summary: string, stderr: string): string {
  const said = stderr
    .split('\n')
    .filter((line) => line.startsWith('remote: '))
    .map((line) => line.slice('remote: '.length).trimEnd())
    .filter((line) => line !== '');
  return [...said.slice(-12), summary].join('\n');
}

function noteOf(repository: Pick<Repository, 'commonDir'>, remote: string): string {
  return join(repository.commonDir, 'fairlead', 'fetched', encodeURIComponent(remote));
}

function noteFetch(repository: Pick<Repository, 'commonDir'>, remote: string): void {
  const file = noteOf(repository, remote);
  makeFoldersIn(repository.commonDir, 'fairlead', 'fetched');
  writeFileSync(file, `${remote}\n`);
}
