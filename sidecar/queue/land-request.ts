import { upstreamOf } from '../git/base.ts';
import type { Merger } from '../git/merging.ts';
import { isAncestor, readRef } from '../git/refs.ts';
import { changedPaths, readStatus } from '../git/status.ts';
import { LANDING_NEEDS_GIT, requireGit } from '../git/version.ts';
import { branchTip } from '../git/worktrees.ts';
import type { LandMethod, LandTarget } from '../protocol/entry.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { SessionRecord } from '../sessions/record.ts';
import type { QueueContext } from './context.ts';

/** What landing would do, for the person to say yes to; see `queue/preview`. */
export interface LandPreview {
  target: LandTarget | null;
  remote: string | null;
  base: string;
  ahead: number;
  uncommitted: string[];
  localOnly: number;
}

/** Looks, and changes nothing. */
export async function previewLanding(
  context: QueueContext,
  session: SessionRecord,
  merger: Merger,
): Promise<LandPreview> {
  const { git } = merger.repository;
  const { main, land_to } = context.sessions.repository(session.repository);
  const upstream = await upstreamOf(git, session.base);
  const tip = await branchTip(git, session.branch);
  const local = await branchTip(git, session.base);
  const followed = upstream === undefined ? undefined : await readRef(git, upstream.tracking);
  const target = upstream === undefined ? 'local' : (context.configFor(main).land.to ?? land_to);
  const onto = target === 'remote' ? followed : local;
  const uncommitted =
    session.life === 'archived'
      ? []
      : changedPaths(await readStatus(context.sessions.git(session, session.worktree)));
  return {
    target,
    remote: upstream?.remote ?? null,
    base: session.base,
    ahead: tip === undefined ? 0 : await count(merger, tip, onto),
    uncommitted,
    localOnly:
      upstream === undefined || followed === undefined || tip === undefined || local === undefined
        ? 0
        : (await isAncestor(git, local, tip))
          ? await count(merger, local, followed)
          : 0,
  };
}

/** Commits of `tip` that `onto` lacks. */
async function count(merger: Merger, tip: string, onto: string | undefined): Promise<number> {
  const not = onto === undefined ? [] : ['--not', onto];
  return Number(await merger.repository.git.text(['rev-list', '--count', tip, ...not]));
}

export interface LandDecision {
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
  merger: Merger,
  request: {
    to?: LandTarget | undefined;
    method?: LandMethod | undefined;
    check?: string | undefined;
    withLocalCommits: boolean;
  },
): Promise<LandDecision> {
  await requireGit(merger.repository.git, LANDING_NEEDS_GIT, 'landing');
  const { main } = context.sessions.repository(session.repository);
  const config = context.configFor(main);
  const preview = await previewLanding(context, session, merger);
  const target = request.to ?? preview.target;
  if (target === null) {
    throw new FairleadError(
      'land.where-to-unset',
      `Where does ${session.base} land: on ${preview.remote}, or in this clone only?`,
      {
        hint: 'Say --to remote or --to local once; it is kept for this repository.',
        data: preview,
      },
    );
  }
  if (target === 'remote' && preview.remote === null) {
    throw new FairleadError('land.no-remote', `${session.base} follows no branch of a remote.`, {
      hint: `Set one (git branch --set-upstream-to=origin/${session.base} ${session.base}), or land with --to local.`,
    });
  }
  if (!context.sessions.isInTurn(session.id))
    refuseEmptyOrDirty(preview, config.land.uncommitted ?? 'commit');
  if (target === 'remote' && preview.localOnly > 0 && !request.withLocalCommits) {
    throw new FairleadError(
      'land.base-diverged',
      `Your local ${session.base} has ${preview.localOnly} commits that ${preview.remote} lacks; they would land along.`,
      { hint: 'Push them first, or land with --with-local-commits.', data: preview },
    );
  }
  return {
    target,
    remote: target === 'remote' ? preview.remote : null,
    method: request.method ?? config.land.method ?? 'merge',
    check: request.check ?? config.land.check ?? null,
  };
}

function refuseEmptyOrDirty(preview: LandPreview, policy: 'commit' | 'refuse'): void {
  if (preview.ahead === 0 && preview.uncommitted.length === 0) {
    throw new FairleadError('land.nothing-to-land', `There is nothing to land on ${preview.base}.`, {
      hint: 'The session has no commit and no change beyond its base.',
    });
  }
  if (policy === 'refuse' && preview.uncommitted.length > 0) {
    throw new FairleadError('land.uncommitted', `${preview.uncommitted.length} files are not committed.`, {
      hint: 'Commit them in the worktree, or set [land] uncommitted = "commit".',
      data: preview.uncommitted,
    });
  }
}
