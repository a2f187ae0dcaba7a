import type { Bindings, Store } from '../platform/store.ts';
import type { CostGroup, CostRow } from '../protocol/protocol.ts';
import * as z from '../protocol/zod.ts';
import { type NanoDollars, toUsd } from './money.ts';

export interface CostQuery {
  by: CostGroup;
  /** Only of this session. */
  session?: string | undefined;
  /** First day, `YYYY-MM-DD` in local time. */
  since?: string | undefined;
}

/**
 * Requests and tokens are those of `ownUsd`; `usd` has also what was inherited, and `unpriced` counts in both.
 * In the total each request is counted once, however many conversations hold it.
 */
export interface CostTable {
  rows: CostRow[];
  total: CostRow;
}

export interface SessionSum {
  own: NanoDollars;
  /** Own and inherited. */
  all: NanoDollars;
  /** Requests that are in neither sum. */
  unpriced: number;
}

export interface Spent {
  nano: NanoDollars;
  requests: number;
  /** Requests that are not in `nano`. */
  unpriced: number;
}

export interface TurnCosts {
  /** By the number of the turn; every turn of the session has an entry. */
  turns: Map<number, Spent>;
  /** What no turn asked for: before the first one. */
  outside: Spent;
}

/** Beyond every time, in milliseconds since the epoch. */
const EVER = 9_000_000_000_000_000;

/**
 * The times in which an agent session belonged to a session: from when it was seen there until it was seen in
 * another. The first one takes what was before, too. So every request belongs to one session at most.
 */
export const spans = (only: string): string => `
  span AS MATERIALIZED (
    SELECT session, id,
      CASE WHEN LAG(started_at) OVER same IS NULL THEN -${EVER} ELSE started_at END AS since,
      COALESCE(LEAD(started_at) OVER same, ${EVER}) AS until
    FROM agent_session ${only}
    WINDOW same AS (PARTITION BY id ORDER BY started_at, session, ordinal)
  )`;
const SPANS_OF_ONE = spans('WHERE id IN (SELECT id FROM agent_session WHERE session = :session)');

/** Requests by the session that holds them: `own` 1 when it paid, 0 for those in copies of other conversations. */
const held = (own: string, copied: string) => `
  held AS (
    SELECT span.session AS holder, request.id AS request, 1 AS own
    FROM span JOIN request ON request.payer = span.id AND request.at >= span.since AND request.at < span.until
    ${own}
    UNION ALL
    SELECT agent_session.session, request_copy.request, 0
    FROM agent_session JOIN request_copy ON request_copy.agent_session = agent_session.id
    ${copied}
  )`;
const HELD_BY_ONE = held('WHERE span.session = :session', 'WHERE agent_session.session = :session');
const HELD = held('', '');

const LABELS: Record<CostGroup, string> = {
  session: 'held_once.holder',
  branch: 'request.branch',
  day: "strftime('%Y-%m-%d', request.at / 1000, 'unixepoch', 'localtime')",
  model: 'request.model',
  family: '(SELECT family FROM session WHERE session.id = held_once.holder)',
};

type Sums = z.infer<typeof Sums>;
const Sums = z.object({
  label: z.string(),
  own: z.int(),
  all: z.int(),
  unpriced: z.int(),
  requests: z.int(),
  input: z.int(),
  output: z.int(),
  written: z.int(),
  read: z.int(),
});

/** `once`: what makes two holdings of a request the same one. */
function sumsOf(store: Store, label: string, once: 'holder, request' | 'request', query: CostQuery): Sums[] {
  const one = query.session !== undefined;
  const bindings: Bindings = {
    ...(query.session === undefined ? {} : { session: query.session }),
    ...(query.since === undefined ? {} : { since: query.since }),
  };
  return store
    .all(
      `WITH ${one ? SPANS_OF_ONE : spans('')}, ${one ? HELD_BY_ONE : HELD},
       held_once AS (SELECT holder, request, MAX(own) AS own FROM held GROUP BY ${once})
       SELECT ${label} AS label,
         COALESCE(SUM(request.nano * own), 0) AS own,
         COALESCE(SUM(request.nano), 0) AS "all",
         COALESCE(SUM(request.nano IS NULL), 0) AS unpriced,
         COALESCE(SUM(own), 0) AS requests,
         COALESCE(SUM(own * request.input), 0) AS input,
         COALESCE(SUM(own * request.output), 0) AS output,
         COALESCE(SUM(own * (request.cache_write_5m + request.cache_write_1h)), 0) AS written,
         COALESCE(SUM(own * request.cache_read), 0) AS read
       FROM held_once JOIN request ON request.id = held_once.request
       WHERE request.replayed = 0 ${query.since === undefined ? '' : `AND ${LABELS.day} >= :since`}
       GROUP BY label`,
      bindings,
    )
    .map((row) => Sums.parse(row));
}

function toCostRow(sums: Sums): CostRow {
  return {
    group: sums.label,
    ownUsd: toUsd(sums.own),
    usd: toUsd(sums.all),
    unpriced: sums.unpriced,
    requests: sums.requests,
    inputTokens: sums.input,
    outputTokens: sums.output,
    cacheWriteTokens: sums.written,
    cacheReadTokens: sums.read,
  };
}

const NOTHING: Sums = {
  label: 'total',
  own: 0,
  all: 0,
  unpriced: 0,
  requests: 0,
  input: 0,
  output: 0,
  written: 0,
  read: 0,
};

function totalOf(store: Store, query: CostQuery): Sums {
  return sumsOf(store, "'total'", 'request', query)[0] ?? NOTHING;
}

/** Days in order; everything else with the most expensive first. */
export function tableOf(store: Store, query: CostQuery): CostTable {
  const once = query.by === 'session' ? 'holder, request' : 'request';
  const rows = sumsOf(store, LABELS[query.by], once, query).map(toCostRow);
  const byName = (a: CostRow, b: CostRow) => (a.group < b.group ? -1 : Number(a.group > b.group));
  rows.sort(query.by === 'day' ? byName : (a, b) => b.ownUsd - a.ownUsd || byName(a, b));
  return { rows, total: toCostRow(totalOf(store, query)) };
}

/** What a session has cost, added up from its requests. */
export function sumOf(store: Store, session: string): SessionSum {
  const { own, all, unpriced } = totalOf(store, { by: 'session', session });
  return { own, all, unpriced };
}

const TurnSums = z.object({ n: z.int(), nano: z.int(), requests: z.int(), unpriced: z.int() });

/**
 * A request belongs to the last turn that had begun when it was answered; what an agent does between two turns
 * is still for the earlier one. Turn 0 stands for the time before the first.
 */
export function turnCostsOf(store: Store, session: string): TurnCosts {
  const rows = store
    .all(
      `WITH ${SPANS_OF_ONE},
       turn_span AS MATERIALIZED (
         SELECT n, started_at AS since, COALESCE(LEAD(started_at) OVER (ORDER BY started_at, n), ${EVER}) AS until
         FROM turn WHERE session = :session
         UNION ALL
         SELECT 0, -${EVER}, COALESCE((SELECT MIN(started_at) FROM turn WHERE session = :session), ${EVER})
       )
       SELECT turn_span.n AS n, COALESCE(SUM(request.nano), 0) AS nano, COUNT(request.id) AS requests,
         COALESCE(SUM(request.id IS NOT NULL AND request.nano IS NULL), 0) AS unpriced
       FROM turn_span
       LEFT JOIN span ON span.session = :session
       LEFT JOIN request ON request.payer = span.id AND request.replayed = 0
         AND request.at >= MAX(turn_span.since, span.since) AND request.at < MIN(turn_span.until, span.until)
       GROUP BY turn_span.n`,
      { session },
    )
    .map((row) => TurnSums.parse(row));
  const spent = rows.map(({ n, ...sums }): [number, Spent] => [n, sums]);
  const turns = new Map(spent);
  const outside = turns.get(0) ?? { nano: 0, requests: 0, unpriced: 0 };
  turns.delete(0);
  return { turns, outside };
}
