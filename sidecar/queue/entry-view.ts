import type { QueueEntry } from '../protocol/entry.ts';
import type { EntryRecord } from './entry-table.ts';
import type { HandBackRecord } from './hand-back-table.ts';
import { MAX_TRIES } from './hand-back-verdict.ts';

/** The entry as clients get it. `position` counts from 1 within its base; null once it has ended. Pure. */
export function entryView(
  entry: EntryRecord,
  title: string,
  repo: string,
  position: number | null,
  handBack: HandBackRecord | undefined,
): QueueEntry {
  return {
    id: entry.id,
    session: entry.session,
    title,
    repo,
    branch: entry.branch,
    base: entry.base,
    target: entry.target,
    remote: entry.remote,
    method: entry.method,
    check: entry.check_command,
    state: entry.state,
    reason: entry.reason,
    message: entry.message,
    paths: entry.paths,
    after: entry.after_sessions,
    position,
    tries: entry.tries,
    handBack: handBackView(handBack),
    baseMoved: entry.base_moved,
    head: entry.head,
    landed: entry.landed,
    queuedAt: entry.queued_at,
    changedAt: entry.changed_at,
    endedAt: entry.ended_at,
  };
}

function handBackView(record: HandBackRecord | undefined): QueueEntry['handBack'] {
  if (record === undefined || record.phase === 'closed') return null;
  return { phase: record.phase, try: record.try, maxTries: MAX_TRIES, base: record.base_commit };
}

/** Names the base that an entry lands on; entries of the same one land one after the other. Pure. */
export function baseKey(entry: Pick<EntryRecord, 'repository' | 'base' | 'target'>): string {
  return `${entry.repository}\0${entry.target}\0${entry.base}`;
}
