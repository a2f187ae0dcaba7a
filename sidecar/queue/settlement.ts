import type { EntryReason } from '../protocol/entry.ts';
import type { Reason, ReasonKind } from '../protocol/reason.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord } from './entry-table.ts';
import type { Outcome } from './outcome.ts';

/** What a person is called for when an entry leaves the queue for this reason; the others only end. */
const DEMAND: Partial<Record<EntryReason, ReasonKind>> = {
  conflict: 'conflict',
  'red-check': 'check-failed',
  'base-rewound': 'landing-stopped',
  'base-missing': 'landing-stopped',
  'base-diverged': 'landing-stopped',
  'branch-missing': 'landing-stopped',
  'commit-refused': 'landing-stopped',
  uncommitted: 'landing-stopped',
  infrastructure: 'landing-stopped',
};

/** Writes down what an attempt came to, for the entry and its session, in one transaction. */
export function settle(context: QueueContext, entry: EntryRecord, outcome: Outcome): void {
  const { entries, sessions } = context;
  const now = context.clock.now();
  entries.transaction(() => {
    const end = { changed_at: now, ended_at: now, retry_at: null };
    switch (outcome.kind) {
      case 'landed':
        entries.dropIntent(entry.id);
        entries.update(entry.id, {
          ...end,
          state: 'landed',
          reason: null,
          message: outcome.note,
          paths: [],
          landed: outcome.commit,
        });
        sessions.setLanding(entry.session, 'landed', null);
        return;
      case 'nothing-to-land':
        entries.update(entry.id, {
          ...end,
          state: 'nothing-to-land',
          reason: 'nothing-to-land',
          message: `Everything in it is on ${entry.base} already.`,
          paths: [],
        });
        sessions.setLanding(entry.session, 'none', null);
        return;
      case 'cancelled':
        entries.update(entry.id, {
          ...end,
          state: 'cancelled',
          reason: 'cancelled',
          message: 'Taken out of the queue.',
          paths: [],
        });
        sessions.setLanding(entry.session, 'none', null);
        return;
      case 'base-moved': {
        const times = entry.base_moved + 1;
        entries.dropIntent(entry.id);
        entries.update(entry.id, {
          changed_at: now,
          state: 'queued',
          reason: null,
          base_moved: times,
          retry_at: null,
          message: `base moved ${times === 1 ? 'once' : `${times} times`}`,
        });
        return;
      }
      case 'again':
        entries.dropIntent(entry.id);
        entries.update(entry.id, { changed_at: now, state: 'queued', reason: null, retry_at: null });
        return;
      case 'head-moved':
        entries.requeue(entry.id);
        entries.update(entry.id, {
          changed_at: now,
          state: 'queued',
          reason: 'head-moved',
          head: null,
          retry_at: null,
          message: `${entry.branch} moved after it was queued; it goes to the end of the land order.`,
        });
        sessions.setLanding(entry.session, 'queued', null);
        return;
      case 'waits':
        entries.update(entry.id, {
          changed_at: now,
          state: 'waiting',
          reason: outcome.reason,
          message: outcome.message,
          paths: [...(outcome.paths ?? [])],
          retry_at: now + outcome.retryMs,
        });
        sessions.setLanding(entry.session, 'queued', demandOf(outcome.demand, outcome.message));
        return;
      case 'failed':
        entries.dropIntent(entry.id);
        entries.update(entry.id, {
          ...end,
          state: 'failed',
          reason: outcome.reason,
          message: outcome.message,
          paths: [...(outcome.paths ?? [])],
          tries: entry.tries + Number(outcome.isTry),
        });
        sessions.setLanding(entry.session, 'none', demandOf(DEMAND[outcome.reason], outcome.message));
        return;
    }
  });
}

function demandOf(kind: ReasonKind | undefined, message: string): Reason | null {
  return kind === undefined ? null : { kind, message };
}
