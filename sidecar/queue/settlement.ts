import type { EntryReason } from '../protocol/entry.ts';
import type { Reason, ReasonKind } from '../protocol/reason.ts';
import type { LandingFact } from '../protocol/session.ts';
import type { QueueContext } from './context.ts';
import type { EntryPatch, EntryRecord } from './entry-table.ts';
import { baseKey } from './entry-view.ts';
import { fails, type Outcome } from './outcome.ts';
import { oneLine } from './untrusted-text.ts';

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

const REWOUND = { kind: 'failed', reason: 'base-rewound', isTry: false } as const;

/** A base that moves more often than this under one entry is given time, a second more for each. */
const PATIENT_AFTER = 3;

/** So often in a row an entry is tried in vain before the person is called: after two minutes, as a rule. */
const TROUBLES_UNTOLD = 4;
const MAX_RETRY_MS = 600_000;
const LASTING = 'It did not mend itself; it is tried again now and then, and at once when you land again.';

type SingleOutcome = Exclude<Outcome, { kind: 'base-rewound' }>;

/**
 * Writes down what an attempt came to, for the entry and its session, in one transaction.
 * @returns the ids of the entries that changed
 */
export function settle(context: QueueContext, id: string, outcome: Outcome): string[] {
  const { entries } = context;
  return entries.transaction(() => {
    const entry = entries.get(id);
    if (entry.ended_at !== null) return [];
    const concluded = conclude(entry, outcome, entries.intent(id) !== undefined);
    if (concluded.kind !== 'base-rewound') {
      settleOne(context, entry, concluded);
      return [id];
    }
    // Known from here on: landing again is how the person says that it is meant.
    entries.keepBaseSeen(entry.repository, entry.base, entry.target, concluded.commit);
    const stopped = entries
      .open()
      .filter((each) => baseKey(each) === baseKey(entry))
      // One that is handed back is judged when it comes back.
      .filter((each) => each.state !== 'handed-back')
      .filter((each) => each.id === id || entries.intent(each.id) === undefined);
    const { message, dropped, commit } = concluded;
    for (const each of stopped) {
      const own = each.id === id && dropped !== undefined;
      settleOne(context, each, own ? { kind: 'dropped', commit, message: dropped } : { ...REWOUND, message });
    }
    return stopped.map((each) => each.id);
  });
}

/** A wish to cancel wins while the base has not moved and cannot have; without one nothing cancels. Pure. */
function conclude(entry: EntryRecord, outcome: Outcome, mayHaveMoved: boolean): Outcome {
  if (entry.cancel && outcome.kind !== 'landed' && !(outcome.kind === 'waits' && mayHaveMoved)) {
    return outcome.kind === 'cancelled' ? outcome : { kind: 'cancelled' };
  }
  return outcome.kind === 'cancelled' && !entry.cancel ? { kind: 'again' } : outcome;
}

function settleOne(context: QueueContext, entry: EntryRecord, outcome: SingleOutcome): void {
  const { entries, sessions } = context;
  const now = context.clock.now();
  const { patch, landing, demand } = consequence(entry, onOneLine(outcome), now);
  if (outcome.kind === 'head-moved') entries.requeue(entry.id);
  entries.update(entry.id, { changed_at: now, ...patch });
  if (patch.ended_at !== undefined) {
    entries.forgetIntents(entry.id);
    context.handBacks.close(entry.id);
  }
  // One that waits may have happened all the same.
  if (patch.ended_at === undefined && outcome.kind !== 'waits') entries.closeIntent(entry.id);
  if (outcome.kind === 'handed-back') {
    const { base, paths } = outcome;
    const turns = sessions.turnCount(entry.session);
    const common = { entry: entry.id, try: 1, kind: 'conflict', phase: 'preparing', begun: false } as const;
    context.handBacks.add(
      { ...common, base_commit: base, tip: outcome.head, paths: [...paths], missing: null, turns },
      now,
    );
  }
  sessions.setLanding(entry.session, landing, demand ?? null);
}

/** What hooks, servers and subjects of commits say may hold anything; people read one line. Pure. */
function onOneLine(outcome: SingleOutcome): SingleOutcome {
  if (!('message' in outcome) || outcome.message === undefined) return outcome;
  return { ...outcome, message: oneLine(outcome.message) };
}

interface Consequence {
  patch: EntryPatch;
  landing: LandingFact;
  demand?: Reason | null;
}

/** What an outcome means for an entry and its session. Pure. */
function consequence(entry: EntryRecord, outcome: SingleOutcome, now: number): Consequence {
  const ended = { ended_at: now, retry_at: null, paths: [] };
  const queued: EntryPatch = { state: 'queued', reason: null, retry_at: null, paths: [] };
  switch (outcome.kind) {
    case 'landed':
      return {
        patch: { ...ended, state: 'landed', reason: null, message: outcome.note, landed: outcome.commit },
        landing: 'landed',
      };
    case 'nothing-to-land':
      return {
        patch: {
          ...ended,
          state: 'nothing-to-land',
          reason: 'nothing-to-land',
          message: `Everything in it is on ${entry.base} already.`,
        },
        landing: 'none',
      };
    case 'cancelled':
      return {
        patch: {
          ...ended,
          state: 'cancelled',
          reason: 'cancelled',
          message: outcome.message ?? 'Taken out of the queue.',
        },
        landing: 'none',
      };
    case 'handed-back':
      return {
        patch: {
          state: 'handed-back',
          reason: 'conflict',
          message: outcome.message,
          paths: [...outcome.paths],
          tries: entry.tries + 1,
          retry_at: null,
          troubles: 0,
        },
        landing: 'resolving',
      };
    case 'resolved':
      return { patch: { ...queued, head: null, troubles: 0, message: outcome.message }, landing: 'queued' };
    case 'base-moved': {
      const times = entry.base_moved + 1;
      const message = `base moved ${times === 1 ? 'once' : `${times} times`}`;
      const retry_at = times > PATIENT_AFTER ? now + (times - PATIENT_AFTER) * 1_000 : null;
      return { patch: { ...queued, base_moved: times, troubles: 0, retry_at, message }, landing: 'queued' };
    }
    case 'again':
      return { patch: { ...queued, message: null }, landing: 'queued' };
    case 'head-moved': {
      const message = `${entry.branch} moved after it was queued; it goes to the end of the land order.`;
      return {
        patch: { ...queued, reason: 'head-moved', head: null, troubles: 0, message },
        landing: 'queued',
      };
    }
    case 'waits': {
      const { reason, paths = [] } = outcome;
      const { troubles, retryMs, message, demand } = patience(entry, outcome);
      return {
        patch: { state: 'waiting', reason, message, paths: [...paths], retry_at: now + retryMs, troubles },
        landing: 'queued',
        demand: demandOf(demand, message),
      };
    }
    case 'dropped': {
      const { commit, message } = outcome;
      return {
        patch: { ...ended, state: 'failed', reason: 'base-rewound', message, rewound_to: commit },
        landing: 'none',
        demand: demandOf(DEMAND['base-rewound'], message),
      };
    }
    case 'conflict':
      return consequence(
        entry,
        fails('conflict', outcome.message, { paths: outcome.paths, isTry: true }),
        now,
      );
    case 'failed': {
      const { reason, message, paths = [], isTry } = outcome;
      const tries = entry.tries + Number(isTry);
      return {
        patch: { ...ended, state: 'failed', reason, message, paths: [...paths], tries },
        landing: 'none',
        demand: demandOf(DEMAND[reason], message),
      };
    }
  }
}

/** How long what keeps an entry is waited out, and from when on it is the person's. Pure. */
function patience(
  entry: EntryRecord,
  outcome: Extract<Outcome, { kind: 'waits' }>,
): { troubles: number; retryMs: number; message: string; demand: ReasonKind | undefined } {
  const { message, retryMs, demand, isTrouble, reason } = outcome;
  const isPersons = reason === 'folder-in-the-way';
  if (!isTrouble && !isPersons) return { troubles: 0, retryMs, message, demand };
  const troubles = entry.troubles + 1;
  const isLasting = troubles >= TROUBLES_UNTOLD;
  return {
    troubles,
    // A folder that the person has tidied is to be seen soon.
    retryMs: isPersons ? retryMs : Math.max(retryMs, Math.min(retryMs * 2 ** (troubles - 1), MAX_RETRY_MS)),
    message: isTrouble && demand === undefined && isLasting ? `${message} ${LASTING}` : message,
    demand: demand ?? (isLasting ? 'landing-stopped' : undefined),
  };
}

function demandOf(kind: ReasonKind | undefined, message: string): Reason | null {
  return kind === undefined ? null : { kind, message };
}
