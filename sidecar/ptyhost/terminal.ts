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
import { type Cursor, type LogEntry, OutputLog } from './output-log.ts';
import { Pace } from './pace.ts';
import type { ParseScheduler } from './parse-scheduler.ts';
import { signal } from './process-tree.ts';
import { STATUS_REPLY } from './program-status.ts';
import { PtyProcess } from './pty-process.ts';
import { ScreenParser } from './screen-parser.ts';
import type { ScrollbackFile } from './scrollback-file.ts';
import { StatusRecords } from './status-records.ts';
import { RETAINED, type TerminalClient } from './terminal-client.ts';
import { TerminalEvents } from './terminal-events.ts';
import { TreeKill } from './tree-kill.ts';

/** Output is cut into entries of about this many bytes, each parsed in one go: 16 KiB take about 0.6 ms. */
const ENTRY_BYTES = 16 * 1024;

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
 * screen when there is time. Both may slow the program down.
 */
export class Terminal {
  readonly id: string;
  readonly #deps: TerminalDependencies;
  readonly #process: PtyProcess;
  readonly #kill: TreeKill;
  readonly #pace: Pace;
  readonly #parser: ScreenParser;
  readonly #events: TerminalEvents;
  readonly #status = new StatusRecords();
  readonly #filter = new OutputFilter();
  readonly #output = new OutputLog();
  readonly #argv: string[];
  readonly #cwd: string;
  readonly #startedAt: number;
  readonly #clients = new Set<TerminalClient>();
  #size: Size;

  #raw: Buffer[] = [];
  #rawBytes = 0;
  #flush: NodeJS.Immediate | undefined;
  #exit: (Exit & { at: number }) | undefined;
  #disposed = false;

  /** @throws FairleadError `terminal.refused` */
  constructor(params: ParsedParamsOf<'create'>, deps: TerminalDependencies) {
    this.id = params.id;
    this.#deps = deps;
    this.#argv = params.argv;
    this.#cwd = params.cwd;
    this.#size = { cols: params.cols, rows: params.rows };
    this.#startedAt = deps.clock.now();
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
    this.#kill = new TreeKill(
      { id: this.id, pid: this.#process.pid, hasExited: () => this.#exit !== undefined },
      deps.clock,
      deps.log,
    );
    this.#pace = new Pace(this.#process, deps.clock, () => this.#distribute());
    this.#events = new TerminalEvents({
      id: this.id,
      clock: deps.clock,
      startedAt: this.#startedAt,
      position: () => this.#output.end,
      emit: deps.emit,
    });
    this.#parser = new ScreenParser(this.#output, this.#size, params.rowsKept, {
      reply: (data) => this.#answer(data),
      title: (title) => this.#events.title(title),
      bell: () => this.#events.bell(),
      parsed: () => this.#distribute(),
      failed: (error) => deps.log.error('terminal.parse', { id: this.id, error }),
    });
  }

  get alive(): boolean {
    return this.#exit === undefined;
  }

  info(): TerminalInfo {
    return {
      id: this.id,
      pid: this.#process.pid,
      argv: this.#argv,
      cwd: this.#cwd,
      ...this.#size,
      startedAt: this.#startedAt,
      lastOutputAt: this.#events.lastOutputAt,
      position: this.#output.end,
      title: this.#parser.title,
      status: this.#status.list(),
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
    this.#distribute();
  }

  /** Ends the program and all it started: `name` at once, SIGKILL to what is left after `graceMs`. */
  kill(name: NodeJS.Signals, graceMs: number): void {
    if (this.#exit !== undefined) return;
    this.#kill.begin(name, graceMs);
  }

  /** Does now what {@link kill} would do after its grace. */
  endKill(): void {
    this.#kill.end();
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
    await this.#parser.upTo(this.#output.end);
    return {
      ...this.#parser.text(),
      title: this.#parser.title,
      ...this.#parser.size,
      position: this.#parser.cursor.position,
      ...(params.ansi ? { ansi: this.#parser.paint(params.scrollback) } : {}),
    };
  }

  /** Raw output from the disk; see the `scrollback` request. */
  async scrollback(before: number | undefined, bytes: number): Promise<{ start: number; data: Buffer }> {
    return await this.#deps.scrollback.read(Math.min(before ?? this.#output.end, this.#output.end), bytes);
  }

  /** Drops everything that is kept. The program must have ended. */
  dispose(): void {
    this.#disposed = true;
    this.#events.dispose();
    this.#pace.dispose();
    this.#deps.scheduler.remove(this.#parser);
    this.#parser.dispose();
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
      this.#output.append(bytes, rest, !this.#clientAnswers());
    }
    this.#events.activity();
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

  // ── Clients and parser ─────────────────────────────────────────────────────

  /** After anything changed: sends, snapshots, schedules parsing, drops what all have read, sets the pace. */
  #distribute(): void {
    if (this.#disposed) return;
    for (const client of this.#clients) client.pump();
    this.#markLagging();
    this.#giveSnapshots();
    if (this.#parser.canParse) this.#deps.scheduler.add(this.#parser);
    this.#trim();
    this.#pace.set(this.#clients, this.#parser.behind);
  }

  #markLagging(): void {
    for (const client of this.#clients) {
      if (client.state === 'live' && this.#output.end - client.cursor.position > RETAINED) client.lag();
    }
  }

  #giveSnapshots(): void {
    // From the snapshot on the client reads the log: it must not be lagging at once.
    if (this.#parser.behind > RETAINED / 2) return;
    for (const client of this.#clients) {
      if (client.state === 'live' || !client.wantsSnapshot) continue;
      const snapshot = this.#parser.snapshot();
      if (snapshot === undefined) return;
      client.snapshot(snapshot);
      client.pump();
    }
  }

  #trim(): void {
    let slowest = this.#parser.cursor;
    for (const client of this.#clients) {
      if (client.state === 'live' && client.cursor.serial < slowest.serial) slowest = client.cursor;
    }
    this.#output.trim(slowest);
  }

  // ── What is told about it ──────────────────────────────────────────────────

  #onStatus(report: StatusReport): void {
    this.#events.status(this.#status.add(report));
  }

  #onExit(exit: Exit): void {
    this.#takeIn();
    this.#exit = { ...exit, at: this.#deps.clock.now() };
    this.#parser.endOutput();
    this.#deps.log.info('terminal.exit', { id: this.id, ...exit });
    // What the program left running on this terminal learns that it is gone, as from a window that closes.
    signal(-this.#process.pid, 'SIGHUP');
    this.#events.flush();
    for (const client of this.#clients) client.exited(exit);
    this.#flushRaw();
    this.#distribute();
    this.#events.exit(exit, this.#exit.at);
  }
}

function gone(id: string): FairleadError {
  return new FairleadError('terminal.gone', `The program of terminal ${id} has ended.`, {
    hint: 'Start the session again.',
  });
}
