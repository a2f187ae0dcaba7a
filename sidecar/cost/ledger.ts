import { statSync } from 'node:fs';
import type { Positional, Store } from '../platform/store.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { Cost } from '../protocol/session.ts';
import * as z from '../protocol/zod.ts';
import {
  type CostQuery,
  type CostTable,
  type SessionSum,
  type TurnCosts,
  tableOf,
  turnCostsOf,
} from './costs.ts';
import { toUsd } from './money.ts';
import type { Prices } from './prices.ts';
import { joined, type Request, replays } from './request.ts';
import type { ReadSoFar, RequestBatch, ScanFile, Telling } from './request-scan.ts';
import { type Held, keepSum, keptSums, SumChanges, sessionSum, sessionWithoutSum } from './session-sums.ts';
import { isInterrupted, type TranscriptScanner } from './transcript-scanner.ts';

export interface LedgerRead {
  /** Requests that are new, or of which more is known than before. */
  requests: number;
  /** Ids of the agent sessions whose cost may have changed. */
  agentSessions: string[];
  /** Lines with a usage that cannot be counted: broken JSON, or nobody and no time to charge them to. */
  malformed: number;
  /** `cost.unreadable`, one for each file that is there and could not be read. The others were read. */
  unreadable: FairleadError[];
}

/** Rows that are priced again in one transaction: few, so that nobody waits for it. */
const REPRICE_ROWS = 500;
/** A reading is given up after so many interruptions in a row without a batch in between. */
const INTERRUPTIONS = 3;

/**
 * Every request to a model that the transcripts tell of, once, in the store.
 *
 * What was read of a transcript, how far it was read, and the sums of the sessions that it belongs to are committed
 * together, so a crash neither loses nor doubles a request; and a request that is read again changes nothing. Holds no
 * state of its own.
 */
export class Ledger {
  readonly #store: Store;
  readonly #prices: Prices;

  private constructor(store: Store, prices: Prices) {
    this.#store = store;
    this.#prices = prices;
  }

  /** What was priced with another table stays so until {@link catchUp}. */
  static open(store: Store, prices: Prices): Ledger {
    return new Ledger(store, prices);
  }

  /**
   * Prices again what was priced with another table, and adds up the sessions that have no sum yet. In short
   * transactions, with `pause` awaited in between; may be cut off at any point and begun anew.
   * @throws FairleadError `disk.full`, `home.read-only`
   */
  async catchUp(pause: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    const used = this.#store.get("SELECT value FROM meta WHERE name = 'cost.prices'")?.value;
    if (used !== this.#prices.fingerprint) {
      for (let after: number | undefined = 0; after !== undefined; ) {
        after = this.#reprice(after);
        await pause();
        if (signal?.aborted) return;
      }
      this.#store.run(
        `INSERT INTO meta (name, value) VALUES ('cost.prices', :value)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
        { value: this.#prices.fingerprint },
      );
    }
    for (;;) {
      const session = sessionWithoutSum(this.#store);
      if (session === undefined) return;
      keepSum(this.#store, session);
      await pause();
      if (signal?.aborted) return;
    }
  }

  /**
   * Takes in what was appended to the transcripts since they were read last. A file that is not there is no error;
   * one that was replaced or cut is read again from its start, and what it told before stays counted: it was paid.
   * @throws FairleadError `transcript.interrupted`; what was read until then is kept
   */
  async read(paths: readonly string[], scanner: Pick<TranscriptScanner, 'requests'>): Promise<LedgerRead> {
    const unique = [...new Set(paths)];
    const result = { requests: 0, malformed: 0 };
    const changed = new Set<string>();
    const unreadable = new Map<string, FairleadError>();
    for (let interruptions = 0; ; ) {
      try {
        await scanner.requests(this.positions(unique), (batch) => {
          result.requests += this.keep(batch, changed);
          result.malformed += batch.malformed;
          for (const { path, why } of batch.unreadable) unreadable.set(path, unreadableError(path, why));
          interruptions = 0;
        });
        return { ...result, agentSessions: [...changed], unreadable: [...unreadable.values()] };
      } catch (error) {
        interruptions += 1;
        if (!isInterrupted(error) || interruptions === INTERRUPTIONS) throw error;
      }
    }
  }

  /** Bytes of transcripts that were not read yet, without those that cannot be looked at: reading them tells why. */
  unreadBytes(paths: readonly string[]): number {
    let bytes = 0;
    for (const { path, from } of this.positions(paths)) {
      const size = sizeOf(path);
      const readTo = from?.position.offset ?? 0;
      // A shorter one is another one.
      bytes += size >= readTo ? size - readTo : size;
    }
    return bytes;
  }

  /** How far each transcript was read. */
  positions(paths: readonly string[]): ScanFile[] {
    return paths.map((path) => ({ path, from: this.#readSoFar(path) }));
  }

  /**
   * Keeps a batch, in one transaction.
   * @returns how many requests are new or changed; adds to `changed` the agent sessions that they touch
   */
  keep(batch: RequestBatch, changed: Set<string>): number {
    if (batch.files.length === 0) return 0;
    return this.#store.derivedTransaction(() => {
      const sums = new SumChanges(this.#store);
      let count = 0;
      for (const tellings of byMessage(batch.tellings)) count += this.#keepMessage(tellings, sums, changed);
      sums.keep();
      for (const { path, born, malformed, position } of batch.files) {
        this.#store.run(PUT_TRANSCRIPT, [
          path,
          position.inode,
          born,
          position.offset,
          position.tail,
          malformed,
        ]);
      }
      return count;
    });
  }

  /** What a session has cost so far; zeros for one that has asked nothing yet. */
  sessionCost(session: string): Cost {
    return toCost(sessionSum(this.#store, session));
  }

  /** What each of `sessions` has cost, as {@link sessionCost} says it. */
  sessionCosts(sessions: readonly string[]): Map<string, Cost> {
    const kept = keptSums(this.#store);
    return new Map(sessions.map((id) => [id, toCost(kept.get(id) ?? sessionSum(this.#store, id))]));
  }

  /** What each turn of a session has cost. The turns and `outside` together are exactly the session's own cost. */
  turnCosts(session: string): TurnCosts {
    return turnCostsOf(this.#store, session);
  }

  /** Costs of all sessions, or of one, grouped. */
  summary(query: CostQuery): CostTable {
    return tableOf(this.#store, query);
  }

  #readSoFar(path: string): ReadSoFar | undefined {
    const row = this.#store.get(
      'SELECT inode, born, read_to, tail, malformed FROM transcript WHERE path = ?',
      [path],
    );
    if (row === undefined) return undefined;
    const { inode, read_to, tail, born, malformed } = TranscriptRecord.parse(row);
    return { position: { inode, offset: read_to, tail }, born, malformed };
  }

  /** The requests of one message: those of a batch together with those that are known. */
  #keepMessage(tellings: readonly Telling[], sums: SumChanges, changed: Set<string>): number {
    const [first, ...others] = tellings;
    if (first === undefined) return 0;
    const known = this.#store.all('SELECT * FROM request WHERE message = ?', [first.request.message]);
    // Nearly all of a history; one request alone repeats none.
    if (known.length === 0 && others.length === 0) {
      const row = this.#toRow(first.request, false);
      return Number(this.#keepRequest(undefined, row, first.seenIn, sums, changed));
    }
    const stored = new Map(
      known.map((row) => {
        const record = StoredRequest.parse(row);
        return [record.request, record];
      }),
    );
    const all = new Map([...stored].map(([id, record]) => [id, fromRecord(record)]));
    const seen = new Map<string, readonly string[]>();
    for (const { request, seenIn } of tellings) {
      const before = all.get(request.request);
      all.set(request.request, before === undefined ? request : joined(before, request));
      seen.set(request.request, seenIn);
    }
    const flags = replays([...all.values()]);
    let count = 0;
    for (const [index, [id, request]] of [...all].entries()) {
      const row = this.#toRow(request, flags[index] === true);
      if (this.#keepRequest(stored.get(id), row, seen.get(id) ?? [], sums, changed)) count += 1;
    }
    return count;
  }

  /** @returns whether the request is new, or anything of it has changed */
  #keepRequest(
    record: StoredRequest | undefined,
    row: RequestRow,
    seenIn: readonly string[],
    sums: SumChanges,
    changed: Set<string>,
  ): boolean {
    const isKnown = record !== undefined && isSame(record, row);
    const holders = new Set(seenIn);
    // The payer of before stood in its own transcript; it turns out to have been a copy.
    if (record !== undefined && record.copied === 0 && record.payer !== row.payer) holders.add(record.payer);
    holders.delete(row.payer);
    // The same blocks of an answer come again and again: nothing more is asked then.
    if (isKnown && holders.size === 0) return false;
    const copies = record === undefined ? new Set<string>() : this.#copiesOf(record.id);
    const added = [...holders].filter((agentSession) => !copies.has(agentSession));
    if (isKnown && added.length === 0) return false;
    const before = record === undefined ? undefined : held(record, [...copies]);
    const id = record === undefined ? this.#store.insert(INSERT, valuesOf(row)) : record.id;
    if (record !== undefined && !isKnown) this.#store.run(UPDATE, [...valuesOf(row), id]);
    for (const agentSession of added) {
      this.#store.run('INSERT INTO request_copy (agent_session, request) VALUES (?, ?)', [agentSession, id]);
      changed.add(agentSession);
    }
    if (!isKnown) changed.add(row.payer);
    sums.replace(before, held(row, [...copies, ...added]));
    return true;
  }

  /** The agent sessions that hold a request without having paid it. */
  #copiesOf(request: number): Set<string> {
    return new Set(
      this.#store
        .all('SELECT agent_session FROM request_copy WHERE request = ?', [request])
        .map((row) => String(row.agent_session)),
    );
  }

  #toRow(request: Request, replayed: boolean): RequestRow {
    return {
      message: request.message,
      request: request.request,
      payer: request.payer,
      copied: Number(request.copied),
      born: request.born,
      side_chain: Number(request.sideChain),
      replayed: Number(replayed),
      at: request.at,
      cwd: request.cwd,
      branch: request.branch,
      model: request.model,
      input: request.input,
      output: request.output,
      cache_write_5m: request.cacheWrite5m,
      cache_write_1h: request.cacheWrite1h,
      cache_read: request.cacheRead,
      web_searches: request.webSearches,
      speed: request.speed,
      geo: request.geo,
      nano: this.#prices.priceOf(request) ?? null,
    };
  }

  /** The next rows after the one with the key `after`; gives the last of them, undefined when there is none. */
  #reprice(after: number): number | undefined {
    return this.#store.derivedTransaction(() => {
      const sums = new SumChanges(this.#store);
      const records = this.#store
        .all('SELECT * FROM request WHERE id > ? ORDER BY id LIMIT ?', [after, REPRICE_ROWS])
        .map((row) => StoredRequest.parse(row));
      for (const record of records) {
        const nano = this.#prices.priceOf(fromRecord(record)) ?? null;
        if (nano === record.nano) continue;
        this.#store.run('UPDATE request SET nano = ? WHERE id = ?', [nano, record.id]);
        const copies = [...this.#copiesOf(record.id)];
        sums.replace(held(record, copies), held({ ...record, nano }, copies));
      }
      sums.keep();
      return records.at(-1)?.id;
    });
  }
}

function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0;
  }
}

function toCost({ own, all, unpriced }: SessionSum): Cost {
  return { ownUsd: toUsd(own), usd: toUsd(all), unpriced };
}

function held(row: RequestRow, copies: readonly string[]): Held {
  return { payer: row.payer, at: row.at, replayed: row.replayed !== 0, nano: row.nano, copies };
}

/** Tellings of the same message, which stand together, as one list each. */
function* byMessage(tellings: readonly Telling[]): Iterable<Telling[]> {
  let group: Telling[] = [];
  for (const telling of tellings) {
    if (group.length > 0 && group[0]?.request.message !== telling.request.message) {
      yield group;
      group = [];
    }
    group.push(telling);
  }
  if (group.length > 0) yield group;
}

const TranscriptRecord = z.object({
  inode: z.string(),
  born: z.int(),
  read_to: z.int(),
  tail: z.string(),
  malformed: z.int(),
});

const RequestRow = z.object({
  message: z.string(),
  request: z.string(),
  payer: z.string(),
  copied: z.int(),
  born: z.int(),
  side_chain: z.int(),
  replayed: z.int(),
  at: z.int(),
  cwd: z.string(),
  branch: z.string(),
  model: z.string(),
  input: z.int(),
  output: z.int(),
  cache_write_5m: z.int(),
  cache_write_1h: z.int(),
  cache_read: z.int(),
  web_searches: z.int(),
  speed: z.string(),
  geo: z.string(),
  nano: z.nullable(z.int()),
});
type RequestRow = z.infer<typeof RequestRow>;
const StoredRequest = z.extend(RequestRow, { id: z.int() });
type StoredRequest = z.infer<typeof StoredRequest>;

const COLUMNS = Object.keys(RequestRow.shape) as (keyof RequestRow)[];
const INSERT = `INSERT INTO request (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`;
const UPDATE = `UPDATE request SET ${COLUMNS.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`;
const PUT_TRANSCRIPT = `
  INSERT INTO transcript (path, inode, born, read_to, tail, malformed) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (path) DO UPDATE SET inode = excluded.inode, born = excluded.born, read_to = excluded.read_to,
    tail = excluded.tail, malformed = excluded.malformed`;

function valuesOf(row: RequestRow): Positional {
  return COLUMNS.map((name) => row[name]);
}

function fromRecord(record: StoredRequest): Request {
  return {
    message: record.message,
    request: record.request,
    payer: record.payer,
    copied: record.copied !== 0,
    born: record.born,
    sideChain: record.side_chain !== 0,
    at: record.at,
    cwd: record.cwd,
    branch: record.branch,
    model: record.model,
    input: record.input,
    output: record.output,
    cacheWrite5m: record.cache_write_5m,
    cacheWrite1h: record.cache_write_1h,
    cacheRead: record.cache_read,
    webSearches: record.web_searches,
    speed: record.speed,
    geo: record.geo,
  };
}

function isSame(record: StoredRequest, row: RequestRow): boolean {
  return COLUMNS.every((name) => record[name] === row[name]);
}

function unreadableError(path: string, why: string): FairleadError {
  return new FairleadError('cost.unreadable', `The transcript ${path} cannot be read: ${why}.`, {
    hint: 'Make it readable; its cost is counted as soon as it is.',
    data: { path },
  });
}
