import type { Size } from '../protocol/ptywire.ts';
import type { Cursor, OutputEntry, OutputLog } from './output-log.ts';
import type { ParseTask } from './parse-scheduler.ts';
import { Screen, type ScreenListener, type ScreenText } from './screen.ts';
import type { Snapshot } from './terminal-client.ts';

/** Longest sequence that is held back from the parser until it is complete, in bytes. */
const MAX_SEQUENCE = 64 * 1024;

/** Bytes of an unfinished sequence of more than {@link MAX_SEQUENCE} that are repeated behind a snapshot. */
const INTRODUCER = 32;

export interface ScreenParserListener extends ScreenListener {
  /** A slice was parsed. */
  parsed(): void;
  /** The emulator failed at what it was given, and goes on behind it. */
  failed(error: unknown): void;
}

/** Reads the output into the screen, a slice at a time: the screen follows behind the log. */
export class ScreenParser implements ParseTask {
  readonly #output: OutputLog;
  readonly #screen: Screen;
  readonly #listener: ScreenParserListener;
  #size: Size;
  #parsed: Cursor = { position: 0, serial: 0 };
  /** The parser is inside no sequence. */
  #rests = true;
  /** Beginning of the sequence that the parser is inside. */
  #introducer: Buffer = Buffer.alloc(0);
  #hostAnswers = true;
  #waiters: { position: number; done: () => void }[] = [];
  #outputEnded = false;
  #disposed = false;

  constructor(output: OutputLog, size: Size, rowsKept: number, listener: ScreenParserListener) {
    this.#output = output;
    this.#size = size;
    this.#listener = listener;
    this.#screen = new Screen(size, rowsKept, {
      reply: (data) => {
        if (this.#hostAnswers) listener.reply(data);
      },
      title: (title) => listener.title(title),
      bell: () => listener.bell(),
    });
  }

  /** What is on the screen. */
  get cursor(): Cursor {
    return this.#parsed;
  }

  /** Unparsed bytes. */
  get behind(): number {
    return this.#output.end - this.#parsed.position;
  }

  /** Of the screen. */
  get size(): Size {
    return this.#size;
  }

  get title(): string {
    return this.#screen.title;
  }

  /** Whether a slice would get further. A sequence without an end waits for it, as long as it is short. */
  get canParse(): boolean {
    const entry = this.#output.next(this.#parsed);
    if (entry === undefined) return false;
    if (entry.kind === 'resize') return true;
    return (
      this.#parsed.position < this.#output.lastRest ||
      this.#introducer.length > 0 ||
      this.#outputEnded ||
      this.behind > MAX_SEQUENCE
    );
  }

  text(): ScreenText {
    return this.#screen.text();
  }

  /** See {@link Screen.paint}. */
  paint(scrollback: number): string {
    return this.#screen.paint(scrollback);
  }

  /** The screen as it is; undefined where a client could not go on from it. */
  snapshot(): Snapshot | undefined {
    if (!this.#rests && this.#introducer.length === 0) return undefined;
    // A screen that was painted for another size is wrong on a client that has only its own.
    if (this.#parsed.serial < this.#output.resizedAt && this.canParse) return undefined;
    const introducer = this.#rests ? '' : this.#introducer.toString('latin1');
    return {
      at: { ...this.#parsed },
      size: this.#size,
      paint: (scrollback) => this.#screen.paint(scrollback) + introducer,
      keptRows: this.#screen.keptRows,
    };
  }

  parseSlice(): boolean {
    const entry = this.#output.next(this.#parsed);
    if (this.#disposed || entry === undefined || !this.canParse) return false;
    if (entry.kind === 'resize') {
      this.#size = entry.size;
      this.#screen.resize(entry.size);
      this.#parsed.serial += 1;
    } else {
      this.#parseOutput(entry);
    }
    this.#wake();
    this.#listener.parsed();
    return this.canParse;
  }

  /** Resolves when the output up to `position` is on the screen, or as much of it as can be. */
  upTo(position: number): Promise<void> {
    if (!this.canParse || this.#parsed.position >= position) return Promise.resolve();
    return new Promise((done) => this.#waiters.push({ position, done }));
  }

  /** A sequence without an end gets none any more. */
  endOutput(): void {
    this.#outputEnded = true;
  }

  dispose(): void {
    this.#disposed = true;
    this.#screen.dispose();
  }

  #parseOutput(entry: OutputEntry): void {
    const from = this.#parsed.position - entry.position;
    const rests = entry.rest > this.#parsed.position;
    const to = rests ? entry.rest - entry.position : entry.bytes.length;
    const bytes = entry.bytes.subarray(from, to);
    if (rests) {
      this.#introducer = Buffer.alloc(0);
    } else if (this.#rests && this.#parsed.position >= this.#output.lastRest) {
      this.#introducer = Buffer.from(bytes.subarray(0, INTRODUCER));
    }
    this.#rests = rests;
    this.#hostAnswers = entry.hostAnswers;
    const failure = this.#screen.parse(bytes);
    if (failure !== undefined) this.#listener.failed(failure);
    this.#parsed.position += bytes.length;
  }

  #wake(): void {
    if (this.#waiters.length === 0) return;
    const stuck = !this.canParse;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) {
      if (stuck || this.#parsed.position >= waiter.position) waiter.done();
      else this.#waiters.push(waiter);
    }
  }
}
