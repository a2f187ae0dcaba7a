import { join } from 'node:path';
import { signsCommits } from '../git/commits.ts';
import { readIdentity } from '../git/identity.ts';
import { makeLandingCommit } from '../git/landing-commit.ts';
import type { Merger } from '../git/merging.ts';
import { isAncestor } from '../git/refs.ts';
import { branchTip } from '../git/worktrees.ts';
import type { SessionRecord } from '../sessions/record.ts';
import type { BaseCheck } from './base-check.ts';
import { type CheckResult, runCheck } from './check.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord } from './entry-table.ts';
import { fails, type Outcome, RETRY_MS, waits } from './outcome.ts';
import { moveBase } from './swapping.ts';
import { readTargetBase, type TargetBase } from './target-base.ts';

export interface AttemptRequest {
  entry: EntryRecord & { head: string };
  session: SessionRecord;
  merger: Merger;
  baseCheck: BaseCheck;
  /** Aborts a check that runs when the entry is cancelled. */
  signal: AbortSignal;
}

const DEFAULT_CHECK_MINUTES = 30;

/**
 * Tries once to put an entry on its base: the real base, merged in memory, checked on exactly that tree, swapped by
 * the value seen, read back. Never throws for what git, a remote or a check does.
 */
export async function attemptLanding(context: QueueContext, request: AttemptRequest): Promise<Outcome> {
  const { entry, merger } = request;
  const { git } = merger.repository;
  const tip = await branchTip(git, entry.branch);
  if (tip === undefined) return fails('branch-missing', `The branch ${entry.branch} does not exist.`);
  if (tip !== entry.head) return { kind: 'head-moved' };

  const base = await readTargetBase(context, entry, merger.repository);
  if (base.kind !== 'base') return base;
  if (await isAncestor(git, entry.head, base.commit)) return { kind: 'nothing-to-land' };
  const localOnly = await localCommitsIn(request, base);
  if (localOnly > 0 && !entry.with_local_commits) return refuseLocalCommits(entry, localOnly);

  const made = await makeLandingCommit(merger, {
    method: entry.method,
    base: base.commit,
    head: entry.head,
    message: `Merge '${request.session.title}' (${entry.branch})`,
    identity: await readIdentity(git),
    at: context.clock.now(),
    sign: await signsCommits(git),
    checkout: join(context.paths.worktrees, '.merges', entry.id),
  });
  await context.step('merged');
  switch (made.kind) {
    case 'nothing':
      return { kind: 'nothing-to-land' };
    case 'unrelated':
      return fails('infrastructure', `${entry.branch} and ${entry.base} have no common history.`);
    case 'infrastructure':
      return waits('infrastructure', made.text, RETRY_MS.infrastructure);
    case 'conflict': {
      const { paths } = made.outcome;
      const where = made.at === undefined ? '' : ` at "${made.at.subject}"`;
      return fails('conflict', `It conflicts with ${entry.base}${where} in ${countOf(paths)}.`, {
        paths,
        isTry: true,
      });
    }
    case 'made':
      break;
  }
  const red = await checkMerged(context, request, base, made.commit);
  if (red !== undefined) return red;
  await context.step('checked');

  const stored = context.entries.intend({
    entry: entry.id,
    base_seen: base.commit,
    head: entry.head,
    tree: made.tree,
    new_commit: made.commit,
    created_at: context.clock.now(),
  });
  if (!stored) return { kind: 'cancelled' };
  await context.step('intended');
  return moveBase(context, merger.repository, entry, base, made.commit);
}

/** Commits of the local base that the branch holds and the remote lacks: they would land along. */
async function localCommitsIn(request: AttemptRequest, base: TargetBase): Promise<number> {
  if (base.upstream === undefined) return 0;
  const { git } = request.merger.repository;
  const local = await branchTip(git, request.entry.base);
  if (local === undefined) return 0;
  const shared = await git.attempt(['merge-base', local, request.entry.head]);
  if (shared.exitCode !== 0) return 0;
  const common = shared.stdout.toString('utf8').trim();
  return Number(await git.text(['rev-list', '--count', common, '--not', base.commit]));
}

function refuseLocalCommits(entry: EntryRecord, count: number): Outcome {
  const commits = count === 1 ? '1 commit' : `${count} commits`;
  return fails(
    'base-diverged',
    `It would take ${commits} of your local ${entry.base} along that ${entry.remote} does not have. ` +
      'Push them first, or land with --with-local-commits.',
  );
}

/** The check on the merged tree, and on the base alone when that is red. Undefined when it may land. */
async function checkMerged(
  context: QueueContext,
  request: AttemptRequest,
  base: TargetBase,
  commit: string,
): Promise<Outcome | undefined> {
  const { entry, session, merger, baseCheck, signal } = request;
  if (entry.check_command === null) return undefined;
  const config = context.configFor(context.sessions.repository(session.repository).main);
  const check = {
    command: entry.check_command,
    environment: context.sessions.environment(session),
    copy: config.worktree.copy,
    timeoutMs: (config.land.checkMinutes ?? DEFAULT_CHECK_MINUTES) * 60_000,
  };
  const merged = await runCheck(context, merger.repository, { ...check, commit, name: entry.id }, signal);
  if (merged.kind === 'green') return undefined;
  if (merged.kind !== 'red') return notRed(merged);
  const alone = await baseCheck.run(
    context,
    merger.repository,
    { ...check, commit: base.commit, name: `base-${entry.id}` },
    signal,
  );
  if (alone.kind === 'red') {
    return waits('base-red', `${entry.base} itself is red: ${alone.message}`, RETRY_MS.infrastructure);
  }
  if (alone.kind !== 'green') return notRed(alone);
  return fails('red-check', merged.message, { isTry: true });
}

function notRed(result: Extract<CheckResult, { kind: 'infrastructure' | 'cancelled' }>): Outcome {
  return result.kind === 'cancelled'
    ? { kind: 'cancelled' }
    : waits('infrastructure', result.message, RETRY_MS.infrastructure);
}

function countOf(paths: readonly string[]): string {
  return paths.length === 1 ? `${paths[0]}` : `${paths.length} files`;
}
