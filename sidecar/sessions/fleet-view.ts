import type { Ledger } from '../cost/ledger.ts';
import { toUsd } from '../cost/money.ts';
import { quoteWord } from '../platform/shell.ts';
import { FairleadError } from '../protocol/errors.ts';
import { fleetOrder } from '../protocol/fleet-order.ts';
import type { Cost, DisplayState, Session, Turn } from '../protocol/session.ts';
import type { SessionContext } from './context.ts';
import { display } from './display.ts';
import type { SessionRecord } from './record.ts';
import { sessionView } from './session-view.ts';

export interface FleetListeners {
  /** Id of the session's entry in the merge queue that has not ended. */
  queueEntry(session: string): string | null;
  /** How the session's last entry stands, in words; null when it never had one. */
  lastLanding(session: string): string | null;
  /** The session as it is, whenever that has changed. */
  changed(session: Session): void;
}

/** The fleet as it is seen, and the waiting for it to be otherwise. */
export class FleetView {
  readonly #context: SessionContext;
  readonly #ledger: Ledger;
  readonly #listeners: FleetListeners;
  readonly #waiting = new Set<() => void>();

  constructor(context: SessionContext, ledger: Ledger, listeners: FleetListeners) {
    this.#context = context;
    this.#ledger = ledger;
    this.#listeners = listeners;
  }

  of(record: SessionRecord): Session {
    const { main } = this.#context.table.repository(record.repository);
    return this.#view(record, main, this.#ledger.sessionCost(record.id));
  }

  #view(record: SessionRecord, repo: string, cost: Cost): Session {
    return sessionView(record, {
      repo,
      attempt: this.#context.table.placeInFamily(record),
      turns: this.#context.table.turnCount(record.id),
      cost,
      queue: this.#listeners.queueEntry(record.id),
      lastLanding: record.landing === 'resolving' ? this.#listeners.lastLanding(record.id) : null,
    });
  }

  /** @throws FairleadError `session.missing`, `session.ambiguous` */
  show(name: string): Session {
    return this.of(this.#context.table.resolve(name));
  }

  /** See `FleetListeners.lastLanding`. */
  lastLanding(id: string): string | null {
    return this.#listeners.lastLanding(id);
  }

  /** In the order of what needs the person. */
  list(filter: { repo?: string | undefined; archived: boolean }): Session[] {
    const { table } = this.#context;
    const mains = new Map<string, string>();
    const mainOf = (repository: string) => {
      const main = mains.get(repository) ?? table.repository(repository).main;
      mains.set(repository, main);
      return main;
    };
    const records = table
      .list(filter)
      .filter(({ repository }) => filter.repo === undefined || mainOf(repository) === filter.repo);
    const costs = this.#ledger.sessionCosts(records.map(({ id }) => id));
    return records
      .map((record) => {
        const cost = costs.get(record.id) ?? this.#ledger.sessionCost(record.id);
        return this.#view(record, mainOf(record.repository), cost);
      })
      .sort(fleetOrder);
  }

  /** How many sessions are in each state, archived ones too. */
  countStates(): Partial<Record<DisplayState, number>> {
    const counts: Partial<Record<DisplayState, number>> = {};
    for (const { facts, sessions } of this.#context.table.countFacts()) {
      const state = display(facts);
      counts[state] = (counts[state] ?? 0) + sessions;
    }
    return counts;
  }

  turns(name: string): Turn[] {
    const record = this.#context.table.resolve(name);
    const costs = this.#ledger.turnCosts(record.id).turns;
    const messages = this.#context.table.turnMessages(record.id);
    return this.#context.table.turns(record.id).map((turn) => ({
      n: turn.n,
      prompt: turn.prompt,
      messages: messages.filter(({ n }) => n === turn.n).map(({ text, at }) => ({ text, at })),
      answer: turn.answer,
      outcome: turn.outcome,
      startedAt: turn.started_at,
      endedAt: turn.ended_at,
      costUsd: toUsd(costs.get(turn.n)?.nano ?? 0),
      unpriced: costs.get(turn.n)?.unpriced ?? 0,
    }));
  }

  /** @throws FairleadError `session.archived` */
  living(name: string): SessionRecord {
    const record = this.#context.table.resolve(name);
    if (record.life !== 'archived') return record;
    throw new FairleadError('session.archived', `${record.id} is archived.`, {
      hint: onwardFrom(record),
    });
  }

  /**
   * Tells everybody how the session is, and those who wait for that; of one that is gone only those. Inside a
   * transaction it is told once that is done, and not at all when it is rolled back.
   */
  announce(id: string): void {
    this.#context.table.afterCommit(() => {
      for (const look of [...this.#waiting]) look();
      const record = this.#context.table.find(id);
      if (record !== undefined) this.#listeners.changed(this.of(record));
    });
  }

  /**
   * Resolves to true once `reached` holds, looked at after every change of the fleet; to false after `timeoutMs`.
   * @throws the reason of `signal` when that aborts first; what `reached` throws
   */
  until(
    reached: () => boolean,
    options: { timeoutMs?: number | undefined; signal?: AbortSignal },
  ): Promise<boolean> {
    const { timeoutMs, signal } = options;
    return new Promise((resolve, reject) => {
      let cancelTimer: (() => void) | undefined;
      const end = () => {
        this.#waiting.delete(look);
        cancelTimer?.();
        signal?.removeEventListener('abort', onAbort);
      };
      // What it throws is for who waits alone: whoever announced something else is not to meet it.
      const isReached = (): boolean | undefined => {
        try {
          return reached();
        } catch (error) {
          end();
          reject(error);
          return undefined;
        }
      };
      const look = () => {
        if (isReached() !== true) return;
        end();
        resolve(true);
      };
      const onAbort = () => {
        end();
        reject(signal?.reason);
      };
      if (signal?.aborted) return onAbort();
      if (timeoutMs !== undefined) {
        cancelTimer = this.#context.clock.after(timeoutMs, () => {
          const isThere = isReached();
          end();
          if (isThere !== undefined) resolve(isThere);
        });
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(look);
      look();
    });
  }
}

/** How the work of an archived session goes on: a branch given as `--base` would be where the next one lands, too. */
function onwardFrom({ id, branch, base, landing }: SessionRecord): string {
  const another = `fairlead new --base ${quoteWord(base)}`;
  if (landing === 'landed') return `Its work has landed on ${base}; start another session there: ${another}`;
  const prompt = quoteWord(`Merge ${branch} into this branch, then go on with it`);
  return `Its work is on the branch ${branch}. Land it as it is: fairlead land ${id}; or go on with it in another session: ${another} ${prompt}`;
}
