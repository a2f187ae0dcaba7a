import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { parseRow, type TranscriptRow } from './transcript-row.ts';

/** Where reading goes on. Plain data, to be stored with what was made of the rows. */
export interface TranscriptPosition {
  inode: string;
  /** Bytes from the start, always just after a newline. */
  offset: number;
  /** The last bytes before `offset` in base64: tells a file that was written anew under the same inode. */
  tail: string;
}

export interface TranscriptRead {
  rows: PositionedRow[];
  position: TranscriptPosition;
  /** The file is another one than before (rotated, truncated, rewritten): what was read of it does not count. */
  restarted: boolean;
  /** There is more; call again with `position`. */
  more: boolean;
  /** Lines that are no JSON object, or too long for one. They are left out, never waited for: a newline ends them. */
  malformed: number;
}

/** A row and the bytes that it takes in the file, without its newline. */
export type PositionedRow = TranscriptRow & { offset: number; bytes: number };

export interface TranscriptOptions {
  /** `usage`: only rows that can cost something; several times as fast. Default `all`. */
  only?: 'all' | 'usage';
  /** Reads at most about this many bytes a call. Default 32 MiB. */
  maxBytes?: number;
}

/**
 * A longer line is counted as malformed and not parsed: objects take up to twenty times their text. The API takes no
 * request of more than 32 MB, so no row that counts is as long.
 */
const LONGEST_LINE_BYTES = 64 * 1024 * 1024;
const TAIL_BYTES = 48;
const NEWLINE = 10;

/**
 * Lines of a transcript that are read past without parsing, by how they begin: snapshots of prompts and tools
 * make up most of a file and hold nothing that is asked for here.
 */
const SKIPPED = [
  'api-request',
  'atis-latch',
  'mode',
  'permission-mode',
  'last-prompt',
  'file-history',
  'tools-used',
].map((type) => Buffer.from(`{"type":"${type}`));
const ATTACHMENT = Buffer.from('"attachment":{"type":');
const USAGE = Buffer.from('"usage"');

/**
 * Reads what was appended to a transcript since `from`, up to the last newline: a torn last line waits.
 * Undefined when the file is not there (yet) or is no regular file.
 */
export function readTranscript(
  path: string,
  from: TranscriptPosition | undefined,
  options: TranscriptOptions = {},
): TranscriptRead | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
  try {
    const stat = fstatSync(fd, { bigint: true });
    if (!stat.isFile()) return undefined;
    const inode = String(stat.ino);
    const size = Number(stat.size);
    const known = from !== undefined && continues(fd, from, inode, size);
    const start = known ? from.offset : 0;
    const bytes = readLines(fd, start, size, options.maxBytes ?? 32 * 1024 * 1024);
    const collected = options.only === 'usage' ? usageRows(bytes, start) : allRows(bytes, start);
    const offset = start + bytes.length;
    const tail =
      bytes.length >= TAIL_BYTES || !known
        ? bytes.subarray(-TAIL_BYTES)
        : Buffer.concat([Buffer.from(from.tail, 'base64'), bytes]).subarray(-TAIL_BYTES);
    return {
      ...collected,
      position: { inode, offset, tail: tail.toString('base64') },
      restarted: from !== undefined && !known,
      more: bytes.length > 0 && offset < size,
    };
  } finally {
    closeSync(fd);
  }
}

function continues(fd: number, from: TranscriptPosition, inode: string, size: number): boolean {
  if (from.inode !== inode || size < from.offset) return false;
  const tail = Buffer.from(from.tail, 'base64');
  const there = Buffer.alloc(tail.length);
  readSync(fd, there, 0, tail.length, from.offset - tail.length);
  return there.equals(tail);
}

/** Kept from one reading to the next: to touch fresh memory costs as much as to copy the bytes into it. */
let scratch = Buffer.alloc(0);
const SCRATCH_BYTES = 1024 * 1024;

/** `size` bytes that hold until the next call. */
function scratchOf(size: number): Buffer {
  if (size > SCRATCH_BYTES) return Buffer.allocUnsafe(size);
  if (scratch.length === 0) scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  return scratch.subarray(0, size);
}

/**
 * Whole lines from `start`: about `maxBytes`, more when one line is longer than that; empty when none has ended. They
 * hold until the next call.
 */
function readLines(fd: number, start: number, size: number, maxBytes: number): Buffer {
  for (let want = Math.min(size - start, maxBytes); want > 0; want = Math.min(size - start, want * 4)) {
    const bytes = scratchOf(want);
    let filled = 0;
    while (filled < want) {
      const count = readSync(fd, bytes, filled, want - filled, start + filled);
      if (count === 0) break;
      filled += count;
    }
    const end = bytes.subarray(0, filled).lastIndexOf(NEWLINE) + 1;
    if (end > 0) return bytes.subarray(0, end);
    if (filled < want || want === size - start) break;
  }
  return Buffer.alloc(0);
}

type Collected = Pick<TranscriptRead, 'rows' | 'malformed'>;

function allRows(bytes: Buffer, start: number): Collected {
  const collected: Collected = { rows: [], malformed: 0 };
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, at);
    if (end > at && !isSkipped(bytes, at, end)) collect(bytes, at, end, start, collected);
    at = end + 1;
  }
  return collected;
}

/** A key `"usage"` stands in hardly any line but those of answers: inside a string its quotes would be escaped. */
function usageRows(bytes: Buffer, start: number): Collected {
  const collected: Collected = { rows: [], malformed: 0 };
  for (let at = bytes.indexOf(USAGE); at !== -1; ) {
    const begin = bytes.lastIndexOf(NEWLINE, at) + 1;
    const end = bytes.indexOf(NEWLINE, at);
    if (end === -1) break;
    collect(bytes, begin, end, start, collected);
    at = bytes.indexOf(USAGE, end);
  }
  return collected;
}

function isSkipped(bytes: Buffer, at: number, end: number): boolean {
  for (const prefix of SKIPPED) {
    if (bytes.subarray(at, at + prefix.length).equals(prefix)) return true;
  }
  const head = bytes.subarray(at, Math.min(end, at + 200));
  return head.indexOf(ATTACHMENT) !== -1;
}

function collect(bytes: Buffer, at: number, end: number, start: number, collected: Collected): void {
  const row = end - at > LONGEST_LINE_BYTES ? undefined : parseRow(bytes.toString('utf8', at, end));
  if (row === undefined) collected.malformed += 1;
  else collected.rows.push({ ...row, offset: start + at, bytes: end - at });
}
