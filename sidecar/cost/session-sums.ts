import type { Store } from '../platform/store.ts';
import { FairleadError } from '../protocol/errors.ts';
import * as z from '../protocol/zod.ts';
import { type SessionSum, spans, sumOf } from './costs.ts';
import type { NanoDollars } from './money.ts';

/** What of a request decides what it adds to which sums. */
export interface Held {
  payer: string;
  /** Milliseconds since the epoch. */
  at: number;
  replayed: boolean;
  /** Null for one without a price. */
  nano: NanoDollars | null;
  /** The agent sessions that have it without having paid. */
  copies: Iterable<string>;
}

const Span = z.object({ session: z.string(), since: z.int(), until: z.int() });
type Span = z.infer<typeof Span>;
const SPANS = `WITH ${spans('WHERE id = ?')} SELECT session, since, until FROM span`;

const Sum = z.object({ own: z.int(), all: z.int(), unpriced: z.int() });
const SessionRow = z.extend(Sum, { session: z.string() });

/**
 * How the sums of sessions change with their requests, to be kept in the transaction that changes the requests.
 * The rules of whose a request is are those of `costs.ts`, which adds up from the requests.
 */
export class SumChanges {
  readonly #store: Store;
  readonly #changes = new Map<string, SessionSum>();
  readonly #spans = new Map<string, Span[]>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** The request as it was, undefined for none, and as it is. */
  replace(before: Held | undefined, after: Held): void {
    if (before !== undefined) this.#add(before, -1);
    this.#add(after, 1);
  }

  /** Sums that nobody has asked for stay to be added up. */
  keep(): void {
    for (const [session, { own, all, unpriced }] of this.#changes) {
      if (own === 0 && all === 0 && unpriced === 0) continue;
      this.#store.run(
        'UPDATE session_cost SET own = own + ?, "all" = "all" + ?, unpriced = unpriced + ? WHERE session = ?',
        [own, all, unpriced, session],
      );
    }
    this.#changes.clear();
  }

  #add({ payer, at, replayed, nano, copies }: Held, sign: 1 | -1): void {
    if (replayed) return;
    const holders = new Map<string, boolean>();
    for (const { session, since, until } of this.#spansOf(payer)) {
      if (at >= since && at < until) holders.set(session, true);
    }
    for (const copy of copies) {
      for (const { session } of this.#spansOf(copy)) if (!holders.has(session)) holders.set(session, false);
    }
    for (const [session, hasPaid] of holders) {
      let sum = this.#changes.get(session);
      if (sum === undefined) {
        sum = { own: 0, all: 0, unpriced: 0 };
        this.#changes.set(session, sum);
      }
      if (hasPaid) sum.own += sign * (nano ?? 0);
      sum.all += sign * (nano ?? 0);
      sum.unpriced += nano === null ? sign : 0;
    }
  }

  #spansOf(agentSession: string): Span[] {
    let found = this.#spans.get(agentSession);
    if (found === undefined) {
      found = this.#store.all(SPANS, [agentSession]).map((row) => Span.parse(row));
      this.#spans.set(agentSession, found);
    }
    return found;
  }
}

/**
 * The kept sum of a session; added up and, where something can be written, kept when there is none. Zeros for a session
 * that is not known. Inside a transaction nothing is kept: what fails to be written may undo all of it.
 */
export function sessionSum(store: Store, session: string): SessionSum {
  const row = store.get('SELECT own, "all", unpriced FROM session_cost WHERE session = ?', [session]);
  if (row !== undefined) return Sum.parse(row);
  if (store.isInTransaction) return plainSum(store, session);
  try {
    return keepSum(store, session);
  } catch (error) {
    // Told by whoever has something to write that cannot be derived again.
    if (!(error instanceof FairleadError && UNWRITABLE.includes(error.code))) throw error;
    return plainSum(store, session);
  }
}

const UNWRITABLE: readonly string[] = ['disk.full', 'home.read-only'];

function plainSum(store: Store, session: string): SessionSum {
  const { own, all, unpriced } = sumOf(store, session);
  return { own, all, unpriced };
}

/** Adds the requests of a session up and keeps the sum. @throws FairleadError `disk.full`, `home.read-only` */
export function keepSum(store: Store, session: string): SessionSum {
  return store.derivedTransaction(() => {
    const { own, all, unpriced } = plainSum(store, session);
    store.run(
      `INSERT INTO session_cost (session, own, "all", unpriced) SELECT id, ?, ?, ? FROM session WHERE id = ?
       ON CONFLICT (session) DO UPDATE SET own = excluded.own, "all" = excluded."all", unpriced = excluded.unpriced`,
      [own, all, unpriced, session],
    );
    return { own, all, unpriced };
  });
}

/** Those of all sessions whose sum is kept. */
export function keptSums(store: Store): Map<string, SessionSum> {
  return new Map(
    store.all('SELECT session, own, "all", unpriced FROM session_cost').map((row) => {
      const { session, ...sum } = SessionRow.parse(row);
      return [session, sum];
    }),
  );
}

/** A session whose sum is still to be added up, undefined when there is none. */
export function sessionWithoutSum(store: Store): string | undefined {
  const row = store.get(
    'SELECT id FROM session WHERE NOT EXISTS (SELECT 1 FROM session_cost WHERE session_cost.session = session.id) LIMIT 1',
  );
  return row === undefined ? undefined : String(row.id);
}
