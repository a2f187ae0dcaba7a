import { join } from 'node:path';
import { signsCommits } from '../git/commits.ts';
import { readIdentity } from '../git/identity.ts';
import type { LandingOutcome } from '../git/landing-commit.ts';
import type { Merger } from '../git/merging.ts';
import { branchTip, isAncestor, isInHistory } from '../git/refs.ts';
import type { SessionRecord } from '../sessions/record.ts';
import type { QueueContext } from './context.ts';
import { findDroppedWork } from './dropped-work.ts';
import type { EntryRecord } from './entry-table.ts';
import type { LandingCommits } from './landing-commits.ts';
import { localCommits } from './local-commits.ts';
import type { MergedCheck } from './merged-check.ts';
import { fails, type Outcome, RETRY_MS, waits } from './outcome.ts';
import { scratchFolders } from './scratch-folders.ts';
import { landed, lookForObstacle, moveBase } from './swapping.ts';
import { followTargetBase, type TargetBase } from './target-base.ts';
import { troubleOf } from './trouble.ts';

export interface AttemptRequest {
  entry: EntryRecord & { head: string };
  session: SessionRecord;
  merger: Merger;
  commits: LandingCommits;
  check: MergedCheck;
  /** Ends a check that runs, a fetch, and every question to a person. */
  signal: AbortSignal;
  /** Shows how far it has come. */
  enter(state: 'checking' | 'swapping'): void;
}

/**
 * Tries once to put an entry on its base: the real base, merged in memory, checked on exactly that tree, swapped by
 * the value seen, read back.
 */
export async function attemptLanding(context: QueueContext, request: AttemptRequest): Promise<Outcome> {
  const { entry, merger } = request;
  const { repository } = merger;
  const moved = await headMoved(request);
  if (moved !== undefined) return moved;
  const base = await followTargetBase(context, entry, repository, request.signal);
  if (base.kind === 'base-rewound') {
    const { session } = request;
    const now = { kind: 'base', commit: base.commit, upstream: base.upstream } as const;
    return { ...base, dropped: await findDroppedWork(context, repository, { entry, session, base: now }) };
  }
  if (base.kind !== 'base') return base;
  for (const commit of context.entries.closedIntents(entry.id, entry.head)) {
    // A push that was given up has arrived after all.
    if (await isInHistory(repository.git, commit, base.commit)) {
      return landed(context, repository, entry, base, commit);
    }
  }
  if (await isAncestor(repository.git, entry.head, base.commit)) return { kind: 'nothing-to-land' };
  const { session } = request;
  const dropped = await findDroppedWork(context, repository, { entry, session, base });
  if (dropped !== undefined) return { kind: 'dropped', commit: base.commit, message: dropped };
  const diverged = await refuseLocalCommits(request, base);
  if (diverged !== undefined) return diverged;

  const made = await mergeOnto(context, request, base.commit);
  await context.step('merged');
  if (made.kind !== 'made') return unmade(entry, base.commit, made);
  if (entry.check_command !== null) {
    // A check is not worth its time, nor the others' in line, as long as its yes would change nothing.
    const obstacle = await lookForObstacle(repository, entry, base, made.commit);
    if (obstacle !== undefined) return obstacle;
    request.enter('checking');
    const { signal } = request;
    const red = await request.check.run(context, repository, { entry, session, base, made, signal });
    if (red !== undefined) return red;
  }
  await context.step('checked');

  // A check takes its time; what lands must be what is queued.
  const movedMeanwhile = await headMoved(request);
  if (movedMeanwhile !== undefined) return movedMeanwhile;
  const stored = context.entries.intend({
    entry: entry.id,
    base_seen: base.commit,
    head: entry.head,
    tree: made.tree,
    new_commit: made.commit,
    created_at: context.clock.now(),
  });
  if (!stored) return { kind: 'cancelled' };
  request.enter('swapping');
  await context.step('intended');
  return moveBase(context, repository, entry, base, made.commit, request.signal);
}

async function headMoved({ entry, merger }: AttemptRequest): Promise<Outcome | undefined> {
  const tip = await branchTip(merger.repository.git, entry.branch);
  if (tip === undefined) return fails('branch-missing', `The branch ${entry.branch} does not exist.`);
  return tip === entry.head ? undefined : { kind: 'head-moved' };
}

async function refuseLocalCommits(request: AttemptRequest, base: TargetBase): Promise<Outcome | undefined> {
  const { entry, merger } = request;
  if (base.upstream === undefined || entry.with_local_commits) return undefined;
  const count = await localCommits(merger.repository.git, entry.base, entry.head, base.commit);
  if (count === 0) return undefined;
  const commits = count === 1 ? '1 commit' : `${count} commits`;
  return fails(
    'base-diverged',
    `It would take ${commits} of your local ${entry.base} along that ${entry.remote} does not have. ` +
      'Push them first, or land with --with-local-commits.',
  );
}

async function mergeOnto(
  context: QueueContext,
  { entry, session, merger, commits }: AttemptRequest,
  base: string,
): Promise<LandingOutcome> {
  const { git } = merger.repository;
  return commits.make(merger, {
    method: entry.method,
    base,
    head: entry.head,
    message: `Merge '${session.title}' (${entry.branch})`,
    identity: await readIdentity(git),
    at: context.clock.now(),
    sign: await signsCommits(git),
    checkout: join(scratchFolders(context.paths).merges, entry.id),
  });
}

function unmade(
  entry: EntryRecord & { head: string },
  base: string,
  made: Exclude<LandingOutcome, { kind: 'made' }>,
): Outcome {
  switch (made.kind) {
    case 'nothing':
      return { kind: 'nothing-to-land' };
    case 'unrelated':
      return fails('infrastructure', `${entry.branch} and ${entry.base} have no common history.`);
    case 'infrastructure':
      return made.cause === undefined
        ? waits('infrastructure', made.text, RETRY_MS.infrastructure)
        : troubleOf(made.cause);
    case 'conflict': {
      const { paths } = made.outcome;
      const where = made.at === undefined ? '' : ` at "${made.at.subject}"`;
      const what = paths.length === 1 ? `${paths[0]}` : `${paths.length} files`;
      const onto = entry.remote === null ? entry.base : `${entry.remote}/${entry.base}`;
      const message = `It conflicts with ${onto}${where} in ${what}.`;
      return { kind: 'conflict', message, paths, base, head: entry.head };
    }
  }
}
