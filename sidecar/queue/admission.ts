import type { Repository } from '../git/repository.ts';
import type { SessionRecord } from '../sessions/record.ts';
import type { QueueContext } from './context.ts';
import { requireDependencies } from './dependencies.ts';
import { alreadyQueued, type EntryRecord } from './entry-table.ts';
import { type LandDecision, type LandRequest, requireLandable } from './land-request.ts';
import type { MergedCheck } from './merged-check.ts';

export interface AdmissionRequest {
  session: SessionRecord;
  repository: Repository;
  request: LandRequest;
  /** Its entry that waits already. */
  waiting: EntryRecord | undefined;
  /** Forgets what it knows when somebody lands again what waits. */
  check: MergedCheck;
}

/**
 * Puts a session at the end of the land order; one that waits already keeps its place and takes over what is asked for.
 * @returns the id of its entry, and whether its target is kept for the repository from now on
 * @throws FairleadError see `MergeQueue.land`
 */
export async function admit(
  context: QueueContext,
  { session, repository, request, waiting, check }: AdmissionRequest,
): Promise<{ id: string; kept: boolean }> {
  const { entries, sessions } = context;
  const decided = await requireLandable(context, session, repository, {
    ...request,
    ...(waiting === undefined ? {} : asBefore(waiting, request)),
  });
  return entries.transaction(() => {
    const now = entries.openOf(session.id);
    if (now !== undefined && now.state !== 'waiting') throw alreadyQueued(session.id);
    const after = requireDependencies(context, session, request.after ?? []);
    let kept = false;
    // Where the configuration says it, another answer counts this time only; so does one that nothing lands by yet.
    if (request.to !== undefined && decided.configured === null && decided.hasWork) {
      kept = sessions.repository(session.repository).land_to !== request.to;
      sessions.setLandTo(session.repository, request.to);
    }
    if (now === undefined) return { id: add(context, session, decided, request, after), kept };
    check.forget();
    return { id: renew(context, now, decided, request, after), kept };
  });
}

function add(
  { entries, sessions, ids, clock }: QueueContext,
  session: SessionRecord,
  decided: LandDecision,
  request: LandRequest,
  after: readonly string[],
): string {
  const now = clock.now();
  const { id } = entries.add({
    id: ids.short(8),
    session: session.id,
    repository: session.repository,
    branch: session.branch,
    base: session.base,
    target: decided.target,
    remote: decided.remote,
    method: decided.method,
    check_command: decided.check,
    with_local_commits: request.withLocalCommits,
    priority: 0,
    state: 'queued',
    reason: null,
    message: null,
    paths: [],
    after_sessions: [...after],
    head: null,
    tries: 0,
    base_moved: 0,
    cancel: false,
    landed: null,
    queued_at: now,
    changed_at: now,
    ended_at: null,
    retry_at: null,
    rewound_to: null,
    troubles: 0,
  });
  sessions.setLanding(session.id, 'queued', null);
  return id;
}

/** A waiting entry that the person lands again: as they say this time, with the work as it is, at once. */
function renew(
  { entries }: QueueContext,
  entry: EntryRecord,
  decided: LandDecision,
  request: LandRequest,
  after: readonly string[],
): string {
  // As long as it may have happened, what was begun stays as it is.
  const mayHaveMoved = entries.intent(entry.id) !== undefined;
  entries.update(entry.id, {
    retry_at: null,
    ...(mayHaveMoved
      ? {}
      : {
          target: decided.target,
          remote: decided.remote,
          method: decided.method,
          check_command: decided.check,
          with_local_commits: request.withLocalCommits || entry.with_local_commits,
          after_sessions: after.length > 0 ? [...after] : entry.after_sessions,
          head: null,
        }),
  });
  return entry.id;
}

/** How a waiting entry lands where the person does not say otherwise. */
function asBefore(entry: EntryRecord, request: LandRequest) {
  return {
    to: request.to ?? entry.target,
    method: request.method ?? entry.method,
    check: request.check ?? entry.check_command ?? undefined,
    withLocalCommits: request.withLocalCommits || entry.with_local_commits,
  };
}
