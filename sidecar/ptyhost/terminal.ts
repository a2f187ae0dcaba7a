import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { FairleadError } from '../protocol/errors.ts';
import type {
  Exit,
  HostEvent,
  ParsedParamsOf,
  ResultOf,
  Size,
  StatusReport,
  TerminalInfo,
} from '../protocol/ptywire.ts';
import type { LoadedPty } from './native-pty.ts';
import { OutputFilter } from './output-filter.ts';
import { type Cursor, type LogEntry, type OutputEntry, OutputLog } from './output-log.ts';
import type { ParseScheduler, ParseTask } from './parse-scheduler.ts';
import { isRunning, processTree, signal } from './process-tree.ts';
import { STATUS_REPLY } from './program-status.ts';
import { PtyProcess } from './pty-process.ts';
import { Screen } from './screen.ts';
import type { ScrollbackFile } from './scrollback-file.ts';

/** Output is cut into entries of about this many bytes, each parsed in one go: 16 KiB take about 0.6 ms. */
const ENTRY_BYTES = 16 * 1024;

/** Unparsed bytes at which the program is stopped, and at which it goes on. */
const PARSE_HIGH = 4 * 1024 * 1024;
const PARSE_LOW = 1024 * 1024;

/** How far a client may stay behind before it gets a snapshot instead of what it missed, in bytes. */
const RETAINED = 1024 * 1024;

/** Longest sequence that is held back from the parser until it is complete, in bytes. */
const MAX_SEQUENCE = 64 * 1024;

/** Bytes of an unfinished sequence of more than {@link MAX_SEQUENCE} that are repeated behind a snapshot. */
const INTRODUCER = 32;

/** Time without an acknowledgement after which a client with a full window no longer holds the program up. */
const STALL_MS = 1_000;

const BELL_MS = 250;
const ACTIVITY_MS = 500;
const MAX_STATUS_RECORDS = 64;

/** One client's stream of a terminal. The terminal calls these; none of them may throw. */
export interface TerminalClient {
  /**
   * `joining` and `lagging` ones wait for a snapshot: the first at once, the second when it has room for it.
   * `live` ones follow the output.
   */
  readonly state: 'joining' | 'live' | 'lagging';
  readonly answersQueries: boolean;
  /** What was sent so far. */
  readonly cursor: Cursor;
  /** Its window is full. */
  readonly full: boolean;
  /** Monotonic time of the last acknowledgement, or of the attaching. */
  readonly heardAt: number;
  /** Ready for a snapshot: everything that was sent is acknowledged. */
  readonly wantsSnapshot: boolean;
  /** There may be something to send. */
  pump(): void;
  snapshot(snapshot: Snapshot): void;
  /** Too far behind: what it missed is gone. */
  lag(): void;
  /** All output is in the log; after the last of it the client is told the exit. */
  exited(exit: Exit): void;
}

export interface Snapshot {
  at: Cursor;
  size: Size;
  /** Text for the screen, or for screen and kept rows. */
  paint(scrollback: number): string;
  keptRows: number;
}

export interface TerminalDependencies {
  pty: LoadedPty;
  clock: Clock;
  log: Log;
  scheduler: ParseScheduler;
  scrollback: ScrollbackFile;
  emit(event: HostEvent): void;
}

/**
 * One program, its output and everyone who watches it.
 *
 * Output goes two ways that do not wait for each other: to the clients at once, and to the parser behind the headless
 * screen when there is time. What slows the program down is
 * - clients, when every one that keeps up has a full window (as in any terminal, output is paced by who shows it).
 *   One that acknowledges nothing for a second no longer counts; it gets a snapshot when it comes back;
 * - the parser, when it is 4 MiB behind;
 * - a client that attaches, for as long as the parser needs to catch up to its snapshot.
 */
export class Terminal implements ParseTask {
  readonly id: string;
  readonly #deps: TerminalDependencies;
  readonly #process: PtyProcess;
  readonly #screen: Screen;
  readonly #filter = new OutputFilter();
  readonly #output = new OutputLog();
  readonly #argv: string[];
  readonly #cwd: string;
  readonly #startedAt: number;
  readonly #clients = new Set<TerminalClient>();
  #size: Size;
  /** The size that the screen has, which follows behind. */
  #screenSize: Size;
  /** Serial behind the latest resize. */
  #resizedAt = 0;

  #raw: Buffer[] = [];
  #rawBytes = 0;
  #flush: NodeJS.Immediate | undefined;

  #parsed: Cursor = { position: 0, serial: 0 };
  /** The parser is inside no sequence. */
  #parserRests = true;
  /** Beginning of the sequence that the parser is inside. */
  #introducer: Buffer = Buffer.alloc(0);
  /** The last position at which a parser is at rest. */
  #lastRest = 0;
  #hostAnswers = true;
  #parserPauses = false;
  #paused = false;
  #stallTimer: (() => void) | undefined;
  #waiters: { position: number; done: () => void }[] = [];

  #status = new Map<string, StatusReport>();
  #lastOutputAt: number;
  #bellAt = Number.NEGATIVE_INFINITY;
  #activityTimer: (() => void) | undefined;
  #exit: (Exit & { at: number }) | undefined;
  #killTimer: (() => void) | undefined;
  #killNow: (() => void) | undefined;
  #disposed = false;

  /** @throws FairleadError `terminal.refused` */
  constructor(params: ParsedParamsOf<'create'>, deps: TerminalDependencies) {
    this.id = params.id;
    this.#deps = deps;
    this.#argv = params.argv;
    this.#cwd = params.cwd;
    this.#size = { cols: params.cols, rows: params.rows };
    this.#screenSize = this.#size;
    this.#startedAt = deps.clock.now();
    this.#lastOutputAt = this.#startedAt;
    this.#process = new PtyProcess(
      deps.pty,
      {
        argv: params.argv,
        cwd: params.cwd,
        env: { TERM: 'xterm-256color', COLORTERM: 'truecolor', ...params.env },
        ...this.#size,
      },
      { output: (bytes) => this.#onOutput(bytes), exit: (exit) => this.#onExit(exit) },
    );
    this.#screen = new Screen(this.#size, params.rowsKept, {
      reply: (data) => {
        if (this.#hostAnswers) this.#answer(data);
      },
      title: (title) => deps.emit({ event: 'title', id: this.id, title }),
      bell: () => this.#onBell(),
    });
  }

  get alive(): boolean {
    return this.#exit === undefined;
  }

  info(): TerminalInfo {
    const own = this.#status.get('');
    const children = [...this.#status].filter(([id]) => id !== '').map(([, report]) => report);
    return {
      id: this.id,
      pid: this.#process.pid,
      argv: this.#argv,
      cwd: this.#cwd,
      ...this.#size,
      startedAt: this.#startedAt,
      lastOutputAt: this.#lastOutputAt,
      position: this.#output.end,
      title: this.#screen.title,
      status: own === undefined ? children : [own, ...children],
      clients: this.#clients.size,
      ...(this.#exit === undefined ? {} : { exited: this.#exit }),
    };
  }

  /** @throws FairleadError `terminal.gone`, `terminal.refused` */
  write(data: Buffer): void {
    if (this.#exit !== undefined) throw gone(this.id);
    this.#process.write(data);
  }

  /** Takes effect in the output where it stands now; the same size again does nothing. */
  resize(size: Size): void {
    if (this.#exit !== undefined || (size.cols === this.#size.cols && size.rows === this.#size.rows)) return;
    this.#flushRaw();
    this.#size = { cols: size.cols, rows: size.rows };
    this.#process.resize(this.#size);
    this.#output.appendResize(this.#size);
    this.#resizedAt = this.#output.cursorAtEnd().serial;
    this.#distribute();
  }

  /** Ends the program and all it started: `name` at once, SIGKILL to what is left after `graceMs`. */
  kill(name: NodeJS.Signals, graceMs: number): void {
    if (this.#exit !== undefined) return;
    const tree = processTree(this.#process.pid);
    this.#deps.log.info('terminal.kill', { id: this.id, signal: name, processes: tree.length });
    for (const { pid } of tree) signal(pid, name);
    // A stopped program gets its signal only when it goes on.
    for (const { pid } of tree) signal(pid, 'SIGCONT');
    this.#killTimer?.();
    this.#killNow = () => {
      this.#killNow = undefined;
      this.#killTimer?.();
      // What was forked meanwhile is found again; once the program is gone its id may be another's.
      const found = this.#exit === undefined ? processTree(this.#process.pid) : [];
      for (const mark of [...tree, ...found]) if (isRunning(mark)) signal(mark.pid, 'SIGKILL');
    };
    this.#killTimer = this.#deps.clock.after(graceMs, this.#killNow);
  }

  /** Does now what {@link kill} would do after its grace. */
  endKill(): void {
    this.#killNow?.();
  }

  attach(client: TerminalClient, size: Size | undefined): void {
    if (size !== undefined) this.resize(size);
    this.#clients.add(client);
    if (this.#exit !== undefined) client.exited(this.#exit);
    this.#flushRaw();
    this.#distribute();
  }

  detach(client: TerminalClient): void {
    this.#clients.delete(client);
    this.#distribute();
  }

  /** A client acknowledged something. */
  heard(): void {
    this.#distribute();
  }

  /** The next entry for a client. */
  nextOutput(cursor: Cursor): LogEntry | undefined {
    return this.#output.next(cursor);
  }

  /** Answers when all output that was there at the call is on the screen. */
  async screen(params: ParsedParamsOf<'screen'>): Promise<ResultOf<'screen'>> {
    this.#flushRaw();
    await this.#parsedUpTo(this.#output.end);
    return {
      ...this.#screen.text(),
      title: this.#screen.title,
      ...this.#screenSize,
      position: this.#parsed.position,
      ...(params.ansi ? { ansi: this.#screen.paint(params.scrollback) } : {}),
    };
  }

  /** Raw output from the disk; see the `scrollback` request. */
  async scrollback(before: number | undefined, bytes: number): Promise<{ start: number; data: Buffer }> {
    return await this.#deps.scrollback.read(Math.min(before ?? this.#output.end, this.#output.end), bytes);
  }

  /** Drops everything that is kept. The program must have ended. */
  dispose(): void {
    this.#disposed = true;
    this.#activityTimer?.();
    this.#stallTimer?.();
    this.#deps.scheduler.remove(this);
    this.#screen.dispose();
    this.#deps.scrollback.remove();
  }

  /** Resolves when all output is on the disk, as far as the disk takes it. */
  async flushed(): Promise<void> {
    await this.#deps.scrollback.flushed();
  }

  // ── Output ─────────────────────────────────────────────────────────────────

  #onOutput(bytes: Buffer): void {
    this.#raw.push(bytes);
    this.#rawBytes += bytes.length;
    if (this.#rawBytes >= ENTRY_BYTES) this.#takeIn();
    // What the event loop reads in one turn goes out together.
    this.#flush ??= setImmediate(() => this.#flushRaw());
  }

  #flushRaw(): void {
    if (this.#flush !== undefined) clearImmediate(this.#flush);
    this.#flush = undefined;
    if (this.#rawBytes === 0 && this.#exit !== undefined) return;
    this.#takeIn();
    this.#distribute();
  }

  /** Moves what was read into the log, without OSC 7501. */
  #takeIn(): void {
    if (this.#rawBytes === 0) return;
    const [only] = this.#raw;
    const raw = this.#raw.length === 1 && only !== undefined ? only : Buffer.concat(this.#raw);
    this.#raw = [];
    this.#rawBytes = 0;
    const { bytes, rest, messages } = this.#filter.push(raw);
    for (const message of messages) {
      if (message.query) this.#answer(STATUS_REPLY);
      else this.#onStatus({ ...message.status, at: this.#deps.clock.now() });
    }
    if (bytes.length > 0) {
      this.#deps.scrollback.append(this.#output.end, bytes);
      if (rest >= 0) this.#lastRest = this.#output.end + rest;
      this.#output.append(bytes, rest, !this.#clientAnswers());
    }
    this.#onActivity();
  }

  #clientAnswers(): boolean {
    for (const client of this.#clients) if (client.answersQueries && client.state !== 'lagging') return true;
    return false;
  }

  #answer(data: string): void {
    try {
      this.#process.write(Buffer.from(data));
    } catch (error) {
      this.#deps.log.warn('terminal.answer-lost', { id: this.id, error });
    }
  }

  // ── Clients, parser, pace ──────────────────────────────────────────────────

  /** After anything changed: sends, snapshots, schedules parsing, drops what all have read, sets the pace. */
  #distribute(): void {
    if (this.#disposed) return;
    for (const client of this.#clients) client.pump();
    this.#markLagging();
    this.#giveSnapshots();
    if (this.#canParse()) this.#deps.scheduler.add(this);
    this.#trim();
    this.#setPace();
  }

  #markLagging(): void {
    for (const client of this.#clients) {
      if (client.state === 'live' && this.#output.end - client.cursor.position > RETAINED) client.lag();
    }
  }

  #giveSnapshots(): void {
    // From the snapshot on the client reads the log: it must not be lagging at once.
    if (this.#output.end - this.#parsed.position > RETAINED / 2) return;
    if (!this.#parserRests && this.#introducer.length === 0) return;
    // A screen that was painted for another size is wrong on a client that has only its own.
    if (this.#parsed.serial < this.#resizedAt && this.#canParse()) return;
    for (const client of this.#clients) {
      if (client.state === 'live' || !client.wantsSnapshot) continue;
      const introducer = this.#parserRests ? '' : this.#introducer.toString('latin1');
      client.snapshot({
        at: { ...this.#parsed },
        size: this.#screenSize,
        paint: (scrollback) => this.#screen.paint(scrollback) + introducer,
        keptRows: this.#screen.keptRows,
      });
      client.pump();
    }
  }

  #trim(): void {
    let slowest = this.#parsed;
    for (const client of this.#clients) {
      if (client.state === 'live' && client.cursor.serial < slowest.serial) slowest = client.cursor;
    }
    this.#output.trim(slowest);
  }

  #setPace(): void {
    const behind = this.#output.end - this.#parsed.position;
    if (behind > PARSE_HIGH) this.#parserPauses = true;
    else if (behind <= PARSE_LOW) this.#parserPauses = false;
    const pause = this.#parserPauses || this.#clientsPause(behind);
    if (pause === this.#paused) return;
    this.#paused = pause;
    if (pause) this.#process.pause();
    else this.#process.resume();
  }

  #clientsPause(behind: number): boolean {
    this.#stallTimer?.();
    this.#stallTimer = undefined;
    let full = 0;
    const now = this.#deps.clock.monotonic();
    let oldest = now;
    for (const client of this.#clients) {
      if (client.state === 'joining') {
        if (behind > RETAINED / 2) return true;
      } else if (client.state === 'live') {
        if (!client.full) return false;
        if (now - client.heardAt < STALL_MS) {
          full += 1;
          oldest = Math.min(oldest, client.heardAt);
        }
      }
    }
    if (full === 0) return false;
    this.#stallTimer = this.#deps.clock.after(oldest + STALL_MS - now + 1, () => this.#distribute());
    return true;
  }

  parseSlice(): boolean {
    const entry = this.#output.next(this.#parsed);
    if (this.#disposed || entry === undefined || !this.#canParse()) return false;
    if (entry.kind === 'resize') {
      this.#screenSize = entry.size;
      this.#screen.resize(entry.size);
      this.#parsed.serial += 1;
    } else {
      this.#parseOutput(entry);
    }
    this.#wake();
    this.#distribute();
    return this.#canParse();
  }

  /** Whether a slice would get further. A sequence without an end waits for it, as long as it is short. */
  #canParse(): boolean {
    const entry = this.#output.next(this.#parsed);
    if (entry === undefined) return false;
    if (entry.kind === 'resize') return true;
    return (
      this.#parsed.position < this.#lastRest ||
      this.#introducer.length > 0 ||
      this.#exit !== undefined ||
      this.#output.end - this.#parsed.position > MAX_SEQUENCE
    );
  }

  #parseOutput(entry: OutputEntry): void {
    const from = this.#parsed.position - entry.position;
    const rests = entry.rest > this.#parsed.position;
    const to = rests ? entry.rest - entry.position : entry.bytes.length;
    const bytes = entry.bytes.subarray(from, to);
    if (rests) {
      this.#introducer = Buffer.alloc(0);
    } else if (this.#parserRests && this.#parsed.position >= this.#lastRest) {
      this.#introducer = Buffer.from(bytes.subarray(0, INTRODUCER));
    }
    this.#parserRests = rests;
    this.#hostAnswers = entry.hostAnswers;
    const failure = this.#screen.parse(bytes);
    if (failure !== undefined) this.#deps.log.error('terminal.parse', { id: this.id, error: failure });
    this.#parsed.position += bytes.length;
  }

  #parsedUpTo(position: number): Promise<void> {
    if (!this.#canParse() || this.#parsed.position >= position) return Promise.resolve();
    return new Promise((done) => this.#waiters.push({ position, done }));
  }

  #wake(): void {
    if (this.#waiters.length === 0) return;
    const stuck = !this.#canParse();
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) {
      if (stuck || this.#parsed.position >= waiter.position) waiter.done();
      else this.#waiters.push(waiter);
    }
  }

  // ── What is told about it ──────────────────────────────────────────────────

  #onStatus(report: StatusReport): void {
    const id = report.id ?? '';
    // Again at the end, so that the oldest is the first.
    this.#status.delete(id);
    if (id === '' || report.state !== 'clear') this.#status.set(id, report);
    if (this.#status.size > MAX_STATUS_RECORDS) {
      for (const oldest of this.#status.keys()) {
        if (oldest === '') continue;
        this.#status.delete(oldest);
        break;
      }
    }
    this.#deps.emit({ event: 'status', id: this.id, status: report });
  }

  #onBell(): void {
    const now = this.#deps.clock.monotonic();
    if (now - this.#bellAt < BELL_MS) return;
    this.#bellAt = now;
    this.#deps.emit({ event: 'bell', id: this.id });
  }

  #onActivity(): void {
    this.#lastOutputAt = this.#deps.clock.now();
    this.#activityTimer ??= this.#deps.clock.after(ACTIVITY_MS, () => {
      this.#activityTimer = undefined;
      this.#tellActivity();
    });
  }

  #tellActivity(): void {
    this.#deps.emit({ event: 'activity', id: this.id, at: this.#lastOutputAt, position: this.#output.end });
  }

  #onExit(exit: Exit): void {
    this.#takeIn();
    this.#exit = { ...exit, at: this.#deps.clock.now() };
    this.#deps.log.info('terminal.exit', { id: this.id, ...exit });
    // What the program left running on this terminal learns that it is gone, as from a window that closes.
    signal(-this.#process.pid, 'SIGHUP');
    if (this.#activityTimer !== undefined) {
      this.#activityTimer();
      this.#activityTimer = undefined;
      this.#tellActivity();
    }
    for (const client of this.#clients) client.exited(exit);
    this.#flushRaw();
    this.#distribute();
    this.#deps.emit({ event: 'exit', id: this.id, exit, at: this.#exit.at });
  }
}

function gone(id: string): FairleadError {
  return new FairleadError('terminal.gone', `The program of terminal ${id} has ended.`, {
    hint: 'Start the session again.',
  });
}
