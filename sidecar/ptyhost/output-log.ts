import type { Size } from '../protocol/ptywire.ts';

/** A stretch of output. */
export interface OutputEntry {
  kind: 'output';
  /** Position of the first byte. */
  position: number;
  bytes: Buffer;
  /** Position of the last point in `bytes` (its end included) at which a parser is at rest, or -1. */
  rest: number;
  /** No attached client answers the queries in it. */
  hostAnswers: boolean;
}

/** From this position on the terminal has another size. */
export interface ResizeEntry {
  kind: 'resize';
  position: number;
  size: Size;
}

export type LogEntry = OutputEntry | ResizeEntry;

/** What a reader of the log has read: all bytes before `position`, and the entries before `serial`. */
export interface Cursor {
  position: number;
  serial: number;
}

/**
 * The output that somebody still has to read: the parser and each client go through it at their own pace, each with
 * a cursor. Entries before the slowest cursor are dropped.
 */
export class OutputLog {
  #entries: LogEntry[] = [];
  /** Serial number of the first entry. */
  #first = 0;
  #end = 0;
  #lastRest = 0;
  #resizedAt = 0;

  /** Position behind the last byte. */
  get end(): number {
    return this.#end;
  }

  /** The last position at which a parser is at rest. */
  get lastRest(): number {
    return this.#lastRest;
  }

  /** Serial behind the latest resize. */
  get resizedAt(): number {
    return this.#resizedAt;
  }

  append(bytes: Buffer, rest: number, hostAnswers: boolean): void {
    if (rest >= 0) this.#lastRest = this.#end + rest;
    this.#entries.push({
      kind: 'output',
      position: this.#end,
      bytes,
      rest: rest < 0 ? -1 : this.#end + rest,
      hostAnswers,
    });
    this.#end += bytes.length;
  }

  appendResize(size: Size): void {
    this.#entries.push({ kind: 'resize', position: this.#end, size });
    this.#resizedAt = this.#first + this.#entries.length;
  }

  /** The next entry at `cursor` that holds something unread, or undefined at the end. */
  next(cursor: Cursor): LogEntry | undefined {
    for (;;) {
      const entry = this.#entries[cursor.serial - this.#first];
      if (entry === undefined) return undefined;
      if (entry.kind === 'resize' || cursor.position < entry.position + entry.bytes.length) return entry;
      cursor.serial += 1;
    }
  }

  /** Drops what lies before `cursor`, which is the slowest. */
  trim(cursor: Cursor): void {
    const drop = cursor.serial - this.#first;
    if (drop <= 0) return;
    this.#entries.splice(0, drop);
    this.#first = cursor.serial;
  }
}
