import type { Reason } from '../protocol/reason.ts';
import { isSame } from '../sessions/need.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord } from './entry-table.ts';
import type { Look } from './hand-back-look.ts';
import type { HandBackPatch, HandBackRecord } from './hand-back-table.ts';
import { conflictWords } from './hand-back-words.ts';
import type { Outcome } from './outcome.ts';
import { settle } from './settlement.ts';
import { oneLine } from './untrusted-text.ts';

export interface HandBackListener {
  /** Tells clients how an entry is. */
  announce(entry: string): void;
  /** Something may be due on the base again. */
  landable(): void;
}

/** How a hand-back stands: what is written of that to its row, its entry and its session. */
export class HandBackStatus {
  readonly #context: QueueContext;
  readonly #listener: HandBackListener;

  constructor(context: QueueContext, listener: HandBackListener) {
    this.#context = context;
    this.#listener = listener;
  }

  /** Says how the conflict stands: `what` goes on after the words that name it. */
  show({ entry, row }: Look, what: string, demand?: Reason['kind']): undefined {
    const words = `${conflictWords(entry, row.paths)}${/^[A-Z/]/.test(what) ? '.' : ';'} ${what}`;
    const message = /[.!?…]$/.test(words) || /: fairlead \S+ \S+$/.test(words) ? words : `${words}.`;
    this.say(entry, {
      message,
      paths: row.paths,
      demand: demand && { kind: demand, message: oneLine(message) },
    });
  }

  /** The agent does not go on without the person. */
  askPerson(look: Look, what: string): undefined {
    const row = this.update(look.row, { phase: 'needs-you' });
    this.show({ ...look, row }, what, 'conflict');
  }

  /** Says how it stands, once: what is said already changes nothing. */
  say(
    { id, session }: EntryRecord,
    {
      message,
      paths,
      demand = null,
    }: { message: string; paths?: readonly string[]; demand?: Reason | null | undefined },
  ): void {
    const { entries, sessions, clock } = this.#context;
    const changed = entries.transaction(() => {
      const now = entries.get(id);
      if (now.ended_at !== null || now.state !== 'handed-back') return false;
      const said = oneLine(message);
      const record = sessions.get(session);
      const isSaid = now.message === said && (paths === undefined || isSamePaths(now.paths, paths));
      if (!isSaid) {
        entries.update(id, {
          message: said,
          ...(paths === undefined ? {} : { paths: [...paths] }),
          changed_at: clock.now(),
        });
      }
      const isTold = record.landing === 'resolving' && isSame(record.demand, demand);
      if (!isTold && !(demand === null && isOfOthers(record.demand) && record.landing === 'resolving')) {
        sessions.setLanding(session, 'resolving', demand);
      }
      return !isSaid;
    });
    if (changed) this.#listener.announce(id);
  }

  /** @returns the row as it is then */
  update(row: HandBackRecord, patch: HandBackPatch): HandBackRecord {
    const isSameNow = Object.entries(patch).every(
      ([name, value]) => JSON.stringify(row[name as keyof HandBackRecord]) === JSON.stringify(value),
    );
    if (!isSameNow) {
      this.#context.handBacks.update(row, patch);
      if (patch.phase !== undefined) this.#listener.announce(row.entry);
    }
    return { ...row, ...patch };
  }

  /** Nothing of the merge is there: it is prepared from the start. */
  prepareAnew(look: Look): Look {
    return { ...look, row: this.update(look.row, { phase: 'preparing', begun: false }) };
  }

  /** Ends the hand-back, in one transaction with what becomes of the entry. `unasked`: no try was used up. */
  settle(
    entry: EntryRecord,
    row: HandBackRecord | undefined,
    outcome: Outcome,
    { unasked = false } = {},
  ): undefined {
    const { entries, handBacks } = this.#context;
    const changed = entries.transaction(() => {
      const now = entries.get(entry.id);
      if (now.ended_at !== null || now.state !== 'handed-back') return [];
      if (unasked && row?.try === 1) entries.update(entry.id, { tries: Math.max(0, now.tries - 1) });
      handBacks.close(entry.id);
      return settle(this.#context, entry.id, outcome);
    });
    for (const id of changed) this.#listener.announce(id);
    void this.#context.step('hand-back-settled');
    if (changed.length > 0) this.#listener.landable();
  }
}

function isSamePaths(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((path, at) => path === other[at]);
}

/** Demands that are not the queue's: they are withdrawn by their own side. */
function isOfOthers(demand: Reason | null): boolean {
  return demand !== null && demand.kind !== 'conflict' && demand.kind !== 'landing-stopped';
}
