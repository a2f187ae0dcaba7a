import { statSync } from 'node:fs';
import { z } from 'zod';
import { type PositionedRow, readTranscript, type TranscriptPosition } from '../agents/claude/transcript.ts';
import type { Bindings, Store } from '../platform/store.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { Cost } from '../protocol/session.ts';
import { type CostQuery, type CostTable, costOf, type TurnCosts, tableOf, turnCostsOf } from './costs.ts';
import type { Prices } from './prices.ts';
import { joined, type Request, replays, requestOf } from './request.ts';

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

/** Most bytes of transcripts whose rows wait for one commit. */
const BATCH_BYTES = 32 * 1024 * 1024;
const CHUNK_BYTES = 8 * 1024 * 1024;
const REPRICE_ROWS = 5_000;

/**
 * Every request to a model that the transcripts tell of, once, in the store.
 *
 * What was read of a transcript and how far it was read are committed together, so a crash neither loses nor
 * doubles a request; and a request that is read again changes nothing. Holds no state of its own: several ledgers,
 * in several threads, each with a store of its own over the same file, get along.
 */
export class Ledger {
  readonly #store: Store;
  readonly #prices: Prices;

  private constructor(store: Store, prices: Prices) {
    this.#store = store;
    this.#prices = prices;
  }

  /** What was priced with another table is priced again first. */
  static open(store: Store, prices: Prices): Ledger {
    const ledger = new Ledger(store, prices);
    ledger.#reprice();
    return ledger;
  }

  /**
   * Takes in what was appended to the transcripts since they were read last. A file that is not there is no error;
   * one that was replaced or cut is read again from its start, and what it told before stays counted: it was paid.
   */
  read(paths: readonly string[]): LedgerRead {
    const result: LedgerRead = { requests: 0, agentSessions: [], malformed: 0, unreadable: [] };
    const changed = new Set<string>();
    let batch = new Batch();
    const commit = () => {
      if (batch.files.size === 0) return;
      const full = batch;
      batch = new Batch();
      result.requests += this.#store.transaction(() => this.#commit(full, changed));
    };
    for (const path of new Set(paths)) {
      try {
        for (let file = this.#fileAt(path), more = true; more; ) {
          const before = file?.position.offset ?? 0;
          const read = readTranscript(path, file?.position, { only: 'usage', maxBytes: CHUNK_BYTES });
          if (read === undefined) break;
          more = read.more;
          if (file !== undefined && !read.restarted && read.position.offset === before) break;
          const known = file !== undefined && !read.restarted ? file : { born: bornOf(path), malformed: 0 };
          const malformed = read.malformed + batch.add(read.rows, known.born);
          file = { position: read.position, born: known.born, malformed: known.malformed + malformed };
          result.malformed += malformed;
          batch.files.set(path, file);
          batch.bytes += read.position.offset - (read.restarted ? 0 : before);
          if (batch.bytes >= BATCH_BYTES) commit();
        }
      } catch (error) {
        if (!isFileError(error)) throw error;
        result.unreadable.push(unreadable(path, error));
      }
    }
    commit();
    result.agentSessions = [...changed];
    return result;
  }

  /** What a session has cost so far; zeros for one that has asked nothing yet. */
  sessionCost(session: string): Cost {
    return costOf(this.#store, session);
  }

  /** What each turn of a session has cost. The turns and `outside` together are exactly the session's own cost. */
  turnCosts(session: string): TurnCosts {
    return turnCostsOf(this.#store, session);
  }

  /** Costs of all sessions, or of one, grouped. */
  summary(query: CostQuery): CostTable {
    return tableOf(this.#store, query);
  }

  #fileAt(path: string): TranscriptFile | undefined {
    const row = this.#store.get(
      'SELECT inode, born, read_to, tail, malformed FROM transcript WHERE path = :path',
      { path },
    );
    if (row === undefined) return undefined;
    const { inode, read_to, tail, born, malformed } = TranscriptRecord.parse(row);
    return { position: { inode, offset: read_to, tail }, born, malformed };
  }

  /** @returns how many requests are new or changed; adds to `changed` the agent sessions that they touch */
  #commit(batch: Batch, changed: Set<string>): number {
    let count = 0;
    for (const [message, tellings] of batch.messages) {
      const stored = this.#store
        .all('SELECT * FROM request WHERE message = :message', { message })
        .map((row) => StoredRequest.parse(row));
      const all = new Map(stored.map((record) => [record.request, fromRecord(record)]));
      for (const [id, { request }] of tellings) {
        const before = all.get(id);
        all.set(id, before === undefined ? request : joined(before, request));
      }
      const flags = replays([...all.values()]);
      for (const [index, [id, request]] of [...all].entries()) {
        const record = stored.find((candidate) => candidate.request === id);
        const row = this.#toRow(request, flags[index] === true);
        if (record !== undefined && isSame(record, row)) {
          if (this.#copies(record.id, request, tellings.get(id)?.seenIn, changed)) count += 1;
          continue;
        }
        count += 1;
        changed.add(request.payer);
        const key = this.#put(row);
        const seenIn = new Set(tellings.get(id)?.seenIn);
        // The payer of before stood in its own transcript; it turns out to have been a copy.
        if (record !== undefined && record.copied === 0 && record.payer !== request.payer) {
          seenIn.add(record.payer);
        }
        this.#copies(key, request, seenIn, changed);
      }
    }
    for (const [path, file] of batch.files) {
      this.#store.run(
        `INSERT INTO transcript (path, inode, born, read_to, tail, malformed)
         VALUES (:path, :inode, :born, :offset, :tail, :malformed)
         ON CONFLICT (path) DO UPDATE SET inode = excluded.inode, born = excluded.born,
           read_to = excluded.read_to, tail = excluded.tail, malformed = excluded.malformed`,
        { path, born: file.born, malformed: file.malformed, ...file.position },
      );
    }
    return count;
  }

  #put(row: RequestRow): number {
    return z.object({ id: z.int() }).parse(this.#store.get(PUT, row)).id;
  }

  /** Notes the conversations that hold the request without having paid it. True when one was not known. */
  #copies(
    key: number,
    request: Request,
    seenIn: Iterable<string> | undefined,
    changed: Set<string>,
  ): boolean {
    let found = false;
    for (const agentSession of seenIn ?? []) {
      if (agentSession === request.payer) continue;
      const added = this.#store.run(
        'INSERT OR IGNORE INTO request_copy (agent_session, request) VALUES (:agentSession, :key)',
        { agentSession, key },
      );
      if (added === 0) continue;
      changed.add(agentSession);
      found = true;
    }
    return found;
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

  #reprice(): void {
    const used = this.#store.get("SELECT value FROM meta WHERE name = 'cost.prices'")?.value;
    if (used === this.#prices.fingerprint) return;
    for (let after = 0; ; ) {
      const records = this.#store
        .all('SELECT * FROM request WHERE id > :after ORDER BY id LIMIT :limit', {
          after,
          limit: REPRICE_ROWS,
        })
        .map((row) => StoredRequest.parse(row));
      this.#store.transaction(() => {
        for (const record of records) {
          const nano = this.#prices.priceOf(fromRecord(record)) ?? null;
          if (nano === record.nano) continue;
          this.#store.run('UPDATE request SET nano = :nano WHERE id = :id', { nano, id: record.id });
        }
      });
      const last = records.at(-1);
      if (last === undefined) break;
      after = last.id;
    }
    this.#store.run(
      `INSERT INTO meta (name, value) VALUES ('cost.prices', :value)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      { value: this.#prices.fingerprint },
    );
  }
}

interface TranscriptFile {
  position: TranscriptPosition;
  /** Milliseconds since the epoch. */
  born: number;
  /** Lines left out so far. */
  malformed: number;
}

interface Telling {
  request: Request;
  /** The agent sessions in whose transcripts the request stands. */
  seenIn: Set<string>;
}

/** What waits for a commit: rows of the same request are already one. */
class Batch {
  readonly messages = new Map<string, Map<string, Telling>>();
  readonly files = new Map<string, TranscriptFile>();
  bytes = 0;

  /** @returns how many rows are answers that cannot be counted */
  add(rows: readonly PositionedRow[], born: number): number {
    let malformed = 0;
    for (const row of rows) {
      // An answer without an id can be told from its copies by nothing.
      if (row.kind === 'other' && row.type === 'assistant') malformed += 1;
      if (row.kind !== 'response') continue;
      const request = requestOf(row, born);
      if (request === undefined) {
        malformed += 1;
        continue;
      }
      let tellings = this.messages.get(request.message);
      if (tellings === undefined) {
        tellings = new Map();
        this.messages.set(request.message, tellings);
      }
      const telling = tellings.get(request.request);
      if (telling === undefined) {
        tellings.set(request.request, { request, seenIn: new Set([row.sessionId ?? request.payer]) });
      } else {
        telling.request = joined(telling.request, request);
        telling.seenIn.add(row.sessionId ?? request.payer);
      }
    }
    return malformed;
  }
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
  nano: z.int().nullable(),
});
type RequestRow = z.infer<typeof RequestRow> & Bindings;
const StoredRequest = RequestRow.extend({ id: z.int() });
type StoredRequest = z.infer<typeof StoredRequest>;

const COLUMNS = Object.keys(RequestRow.shape);
const PUT = `
  INSERT INTO request (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map((name) => `:${name}`).join(', ')})
  ON CONFLICT (message, request) DO UPDATE SET ${COLUMNS.map((name) => `${name} = excluded.${name}`).join(', ')}
  RETURNING id`;

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
  return Object.entries(row).every(([name, value]) => record[name as keyof StoredRequest] === value);
}

/** Milliseconds since the epoch. Where the file system keeps no birth time, Node gives a time that is later. */
function bornOf(path: string): number {
  return Math.floor(statSync(path, { throwIfNoEntry: false })?.birthtimeMs ?? 0);
}

function isFileError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

function unreadable(path: string, cause: Error): FairleadError {
  return new FairleadError('cost.unreadable', `The transcript ${path} cannot be read: ${messageOf(cause)}.`, {
    hint: 'Make it readable; its cost is counted as soon as it is.',
    data: { path },
    cause,
  });
}
