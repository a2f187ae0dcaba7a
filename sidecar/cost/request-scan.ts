import { statSync } from 'node:fs';
import { type PositionedRow, readTranscript, type TranscriptPosition } from '../agents/claude/transcript.ts';
import { messageOf } from '../protocol/errors.ts';
import { joined, type Request, requestOf } from './request.ts';

/** How far a transcript was read. Plain data. */
export interface ReadSoFar {
  position: TranscriptPosition;
  /** Milliseconds since the epoch at which the file came to be. */
  born: number;
  /** Lines left out so far. */
  malformed: number;
}

export interface ScanFile {
  path: string;
  /** Undefined for one that was never read. */
  from: ReadSoFar | undefined;
}

/** One request as the rows of a batch tell it. */
export interface Telling {
  request: Request;
  /** The agent sessions in whose transcripts the request stands. */
  seenIn: string[];
}

/** What was read and is to be kept in one transaction. Plain data: it goes from one thread to another. */
export interface RequestBatch {
  /** Requests with the same `message` stand together. */
  tellings: Telling[];
  files: (ReadSoFar & { path: string })[];
  /** Lines with a usage that cannot be counted. */
  malformed: number;
  /** Files that are there and could not be read. */
  unreadable: { path: string; why: string }[];
}

/** A batch with so many requests, or of so many bytes, is given away: one transaction is to be short. */
const BATCH_REQUESTS = 256;
const BATCH_BYTES = 16 * 1024 * 1024;

/** Reads the requests out of transcripts, from where each was left, piece by piece. */
export class RequestScan {
  readonly #waiting: ScanFile[];
  #file: ScanFile | undefined;
  #batch = new BatchBuilder();

  constructor(files: readonly ScanFile[]) {
    this.#waiting = [...files].reverse();
    this.#file = this.#waiting.pop();
  }

  /** Everything was read; what is in the batch is the last of it. */
  get isDone(): boolean {
    return this.#file === undefined;
  }

  get isFull(): boolean {
    return this.#batch.requests >= BATCH_REQUESTS || this.#batch.bytes >= BATCH_BYTES;
  }

  /** Reads about `maxBytes` of one file; gives the number of bytes. */
  step(maxBytes: number): number {
    const file = this.#file;
    if (file === undefined) return 0;
    try {
      const read = this.#read(file, maxBytes);
      if (!read.more) this.#file = this.#waiting.pop();
      return read.bytes;
    } catch (error) {
      if (!isFileError(error)) throw error;
      this.#batch.unreadable.push({ path: file.path, why: messageOf(error) });
      this.#file = this.#waiting.pop();
      return 0;
    }
  }

  /** What was read since the last call. */
  take(): RequestBatch {
    const batch = this.#batch;
    this.#batch = new BatchBuilder();
    return batch.build();
  }

  #read(file: ScanFile, maxBytes: number): { bytes: number; more: boolean } {
    const { path, from } = file;
    const read = readTranscript(path, from?.position, { only: 'usage', maxBytes });
    if (read === undefined) return { bytes: 0, more: false };
    const goesOn = from !== undefined && !read.restarted;
    const bytes = read.position.offset - (goesOn ? from.position.offset : 0);
    if (goesOn && bytes === 0) return { bytes, more: false };
    const known = goesOn ? from : { born: bornOf(path), malformed: 0 };
    const malformed = read.malformed + this.#batch.add(read.rows, known.born);
    file.from = { position: read.position, born: known.born, malformed: known.malformed + malformed };
    this.#batch.malformed += malformed;
    this.#batch.bytes += bytes;
    this.#batch.files.set(path, file.from);
    return { bytes, more: read.more };
  }
}

/** Rows of the same request are made one. */
class BatchBuilder {
  readonly files = new Map<string, ReadSoFar>();
  readonly unreadable: RequestBatch['unreadable'] = [];
  readonly #messages = new Map<string, Map<string, { request: Request; seenIn: Set<string> }>>();
  requests = 0;
  bytes = 0;
  malformed = 0;

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
      let tellings = this.#messages.get(request.message);
      if (tellings === undefined) {
        tellings = new Map();
        this.#messages.set(request.message, tellings);
      }
      const telling = tellings.get(request.request);
      if (telling === undefined) {
        this.requests += 1;
        tellings.set(request.request, { request, seenIn: new Set([row.sessionId ?? request.payer]) });
      } else {
        telling.request = joined(telling.request, request);
        telling.seenIn.add(row.sessionId ?? request.payer);
      }
    }
    return malformed;
  }

  build(): RequestBatch {
    const tellings: Telling[] = [];
    for (const requests of this.#messages.values()) {
      for (const { request, seenIn } of requests.values()) tellings.push({ request, seenIn: [...seenIn] });
    }
    const files = [...this.files].map(([path, read]) => ({ path, ...read }));
    return { tellings, files, malformed: this.malformed, unreadable: this.unreadable };
  }
}

/** Milliseconds since the epoch. Where the file system keeps no birth time, Node gives a time that is later. */
function bornOf(path: string): number {
  return Math.floor(statSync(path, { throwIfNoEntry: false })?.birthtimeMs ?? 0);
}

function isFileError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}
