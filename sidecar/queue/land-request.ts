import { upstreamOf } from '../git/base.ts';
import { branchTip, readRef } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { changedPaths, readStatus } from '../git/status.ts';
import { LANDING_NEEDS_GIT, requireGit } from '../git/version.ts';
import { findMisplacedWork } from '../git/work-place.ts';
import { inspectWorktree, requireOwnWorktree } from '../git/worktree-faults.ts';
import type { LandMethod, LandTarget, Uncommitted } from '../protocol/entry.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { SessionRecord } from '../sessions/record.ts';
import type { QueueContext } from './context.ts';
import { localCommits } from './local-commits.ts';

export interface LandRequest {
  session: string;
  to?: LandTarget | undefined;
  check?: string | undefined;
  method?: LandMethod | undefined;
  withLocalCommits: boolean;
  /** Sessions that have to land before. A waiting entry that is landed again without any keeps its own. */
  after?: readonly string[] | undefined;
}

/** What landing would do, for the person to say yes to; see `queue/preview`. */
export interface LandPreview {
  /** Null: the person has to say, once a repository. */
  target: LandTarget | null;
  /** What the configuration says, and what is kept from an earlier answer. */
  configured: LandTarget | null;
  kept: LandTarget | null;
  /** The remote that the base follows, whatever the target. */
  remote: string | null;
  base: string;
  /** Commits that the target lacks. */
  ahead: number;
  uncommitted: string[];
  /** What the configuration says of them. */
  policy: Uncommitted | null;
  /** Commits of the local base that would land on the remote's along with the work. */
  localOnly: number;
  /** False where nothing would land, whatever is answered. */
  mayLand: boolean;
}

/**
 * Looks, and changes nothing. What the remote has is told from the last fetch.
 * @param to the target when the person has named one
 */
export async function previewLanding(
  context: QueueContext,
  session: SessionRecord,
  repository: Repository,
  to?: LandTarget,
): Promise<LandPreview> {
  const { git } = repository;
  const upstream = await upstreamOf(git, session.base);
  const tip = await branchTip(git, session.branch);
  const followed = upstream === undefined ? undefined : await readRef(git, upstream.tracking);
  const { main, land_to: kept } = context.sessions.repository(session.repository);
  const { land, suggestedTarget } = context.configFor(main);
  // Whoever can land can change the repository's own file, so it counts only where the person has said nothing.
  const decided = land.to ?? kept ?? suggestedTarget ?? null;
  const target = to ?? (upstream === undefined ? 'local' : decided);
  const onto = target === 'remote' ? followed : await branchTip(git, session.base);
  const hasWorktree =
    session.life !== 'archived' &&
    inspectWorktree(repository, session.worktree, session.branch) === undefined;
  const work = {
    ahead:
      tip === undefined
        ? 0
        : Number(
            await git.text(['rev-list', '--count', tip, '--not', ...(onto === undefined ? [] : [onto])]),
          ),
    uncommitted: hasWorktree
      ? changedPaths(await readStatus(context.sessions.git(session, session.worktree)))
      : [],
    localOnly:
      followed === undefined || tip === undefined ? 0 : await localCommits(git, session.base, tip, followed),
  };
  return {
    ...work,
    target,
    configured: land.to ?? null,
    kept,
    remote: upstream?.remote ?? null,
    base: session.base,
    policy: land.uncommitted ?? null,
    // Onto the remote, commits of the local base could.
    mayLand: hasWork(work) || work.localOnly > 0 || context.sessions.isInTurn(session.id),
  };
}

function hasWork({ ahead, uncommitted }: Pick<LandPreview, 'ahead' | 'uncommitted'>): boolean {
  return ahead > 0 || uncommitted.length > 0;
}

export interface LandDecision {
  /** The target that the configuration names. */
  configured: LandTarget | null;
  /** Whether there is anything to land by now: a turn that runs may yet come to nothing. */
  hasWork: boolean;
  target: LandTarget;
  remote: string | null;
  method: LandMethod;
  check: string | null;
}

/**
 * Decides how a session lands, or says why it cannot, before it enters the queue.
 * @throws FairleadError see `MergeQueue.land`
 */
export async function requireLandable(
  context: QueueContext,
  session: SessionRecord,
  repository: Repository,
  request: Omit<LandRequest, 'session' | 'after'>,
): Promise<LandDecision> {
  await requireGit(repository.git, LANDING_NEEDS_GIT, 'landing');
  const { main } = context.sessions.repository(session.repository);
  const { land } = context.configFor(main);
  const preview = await previewLanding(context, session, repository, request.to);
  const { target, remote, base, localOnly } = preview;
  const refuse = () => refuseUnready(context, repository, session, preview);
  const isInTurn = context.sessions.isInTurn(session.id);
  if (target === null) {
    // Nobody has to say where nothing lands. Onto the remote, commits of the local base could.
    if (!isInTurn && localOnly === 0) await refuse();
    throw new FairleadError(
      'land.where-to-unset',
      `Where does ${base} land: on ${remote}, or in this clone only?`,
      { hint: 'Say --to remote or --to local once; it is kept for this repository.', data: preview },
    );
  }
  if (target === 'remote' && remote === null) {
    throw new FairleadError('land.no-remote', `${base} follows no branch of a remote.`, {
      hint: `Set one (git branch --set-upstream-to=origin/${base} ${base}), or land with --to local.`,
    });
  }
  if (!isInTurn) await refuse();
  if (target === 'remote' && localOnly > 0 && !request.withLocalCommits) {
    throw new FairleadError(
      'land.base-diverged',
      `Your local ${base} has ${localOnly} ${localOnly === 1 ? 'commit' : 'commits'} that ${remote} lacks and that would land along.`,
      { hint: 'Push them first, or land with --with-local-commits.', data: preview },
    );
  }
  return {
    configured: preview.configured,
    hasWork: hasWork(preview),
    target,
    remote: target === 'remote' ? remote : null,
    method: request.method ?? land.method ?? 'merge',
    check: request.check ?? land.check ?? null,
  };
}

/** What is known at once to be in the way of landing. What only waits is for the queue. */
async function refuseUnready(
  context: QueueContext,
  repository: Repository,
  session: SessionRecord,
  preview: LandPreview,
): Promise<void> {
  const { base, uncommitted, policy } = preview;
  const misplaced = await findMisplacedWork(repository, session);
  const hasNothing = !hasWork(preview);
  if (misplaced?.kind === 'branch-missing') {
    throw new FairleadError('land.branch-missing', misplaced.message, { hint: misplaced.hint });
  }
  if (misplaced?.kind === 'other-branch' && hasNothing) {
    throw new FairleadError('land.work-elsewhere', misplaced.message, { hint: misplaced.hint });
  }
  if (hasNothing && misplaced === undefined) {
    const fault =
      session.life === 'archived' ? undefined : inspectWorktree(repository, session.worktree, session.branch);
    if (fault !== undefined && fault.kind !== 'folder-missing') {
      requireOwnWorktree(repository, session.worktree, session.branch);
    }
    const [landing] = context.entries.landings(session.id);
    if (landing !== undefined) {
      const commit = landing.landed.slice(0, 10);
      throw new FairleadError(
        'land.nothing-to-land',
        `It has landed already, on ${landing.base} as ${commit}; nothing came after.`,
        { hint: `See what landed: fairlead diff ${session.id}; put it away: fairlead archive ${session.id}` },
      );
    }
    throw new FairleadError('land.nothing-to-land', `There is nothing to land on ${base}.`, {
      hint:
        fault === undefined
          ? 'The session has no commit and no change beyond its base.'
          : `Its branch has no commit beyond its base, and its worktree ${session.worktree} is gone.`,
    });
  }
  if (policy === 'refuse' && uncommitted.length > 0) {
    throw new FairleadError('land.uncommitted', notCommitted(uncommitted), {
      hint: 'Commit them in the worktree, or set [land] uncommitted = "commit".',
      data: uncommitted,
    });
  }
}

export function notCommitted(paths: readonly string[]): string {
  return `${paths.length === 1 ? '1 file is' : `${paths.length} files are`} not committed.`;
}
