import { readSync, statSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { ReadStream } from 'node:tty';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { Exit, Size } from '../protocol/ptywire.ts';
import { withoutDescriptorGaps } from './descriptors.ts';
import type { LoadedPty } from './native-pty.ts';

export interface PtyOptions extends Size {
  argv: readonly string[];
  cwd: string;
  /** The whole environment of the program. */
  env: Readonly<Record<string, string>>;
}

export interface PtyListener {
  /** Output, in order. The bytes are the listener's own. */
  output(bytes: Buffer): void;
  /** The program has ended and everything it wrote was given to `output`. Called once. */
  exit(exit: Exit): void;
}

/** Most input that waits for a program that does not read it, in bytes. */
const MAX_QUEUED_INPUT = 16 * 1024 * 1024;

/** Most that is read after the program's end, in bytes: programs it left behind may write for ever. */
const MAX_DRAIN = 4 * 1024 * 1024;

/** The kernel hands out at most 4 KiB of a PTY a read; libuv reads up to 32 times before it yields. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * A program on a pseudoterminal of its own. Output comes raw; it ends only after the last byte was delivered, also
 * when the program exits behind a burst or while reading is paused.
 */
export class PtyProcess {
  readonly pid: number;
  readonly #pty: LoadedPty;
  readonly #fd: number;
  readonly #stream: ReadStream;
  readonly #listener: PtyListener;
  #exit: Exit | undefined;
  #ended = false;
  /** The PTY told its end: nothing is left to read. */
  #closed = false;
  #paused = false;
  #input: Buffer[] = [];
  #inputBytes = 0;
  #inputTimer: NodeJS.Timeout | undefined;
  #inputDelay = 1;

  /** @throws FairleadError `terminal.refused` */
  constructor(pty: LoadedPty, options: PtyOptions, listener: PtyListener) {
    this.#pty = pty;
    this.#listener = listener;
    const [program = '', ...args] = options.argv;
    checkFolder(options.cwd);
    checkProgram(program, options);
    const env = Object.entries(options.env).map(([name, value]) => `${name}=${value}`);
    const { cols, rows, cwd } = options;
    try {
      const started = withoutDescriptorGaps(() =>
        pty.native.fork(program, args, env, cwd, cols, rows, -1, -1, true, pty.helper, (code, signal) =>
          this.#onExit(code, signal),
        ),
      );
      this.pid = started.pid;
      this.#fd = started.fd;
    } catch (cause) {
      throw new FairleadError('terminal.refused', `No terminal could be opened: ${messageOf(cause)}`, {
        hint: 'The system is out of pseudoterminals, processes or file descriptors; stop some sessions.',
        cause,
      });
    }
    const onread = { buffer: READ_BUFFER, callback: (bytes: number) => this.#onRead(bytes) };
    this.#stream = new ReadStream(this.#fd, { onread });
    this.#stream.on('error', () => this.#onClosed()); // EIO: every copy of the other side is closed.
    this.#stream.on('end', () => this.#onClosed());
    this.#stream.on('close', () => this.#onClosed());
    this.#stream.resume();
  }

  /** Queues input and writes as much as the program takes. @throws FairleadError `terminal.refused` when it takes none */
  write(bytes: Buffer): void {
    if (this.#exit !== undefined || this.#closed || bytes.length === 0) return;
    if (this.#inputBytes + bytes.length > MAX_QUEUED_INPUT) {
      throw new FairleadError('terminal.refused', 'The program does not read its input.', {
        hint: 'Wait until it does, or stop it.',
      });
    }
    this.#input.push(bytes);
    this.#inputBytes += bytes.length;
    if (this.#inputTimer === undefined) this.#flushInput();
  }

  /** Input that the program has not taken, in bytes. */
  get queuedInput(): number {
    return this.#inputBytes;
  }

  resize(size: Size): void {
    if (this.#exit !== undefined || this.#closed) return;
    this.#pty.native.resize(this.#fd, size.cols, size.rows, 0, 0);
  }

  /** Stops reading; the kernel then stops the program when its buffer (about 64 KiB) is full. */
  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    if (!this.#closed) this.#stream.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (!this.#closed) this.#stream.resume();
  }

  #onRead(bytes: number): boolean {
    this.#listener.output(Buffer.from(READ_BUFFER.subarray(0, bytes)));
    return !this.#paused;
  }

  #onClosed(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#inputTimer);
    this.#input = [];
    this.#inputBytes = 0;
    this.#stream.destroy();
    this.#finish();
  }

  #onExit(exitCode: number, signal: number): void {
    this.#exit = signal === 0 ? { exitCode, signal: null } : { exitCode: null, signal: signalName(signal) };
    // What the program wrote is in the kernel's buffer at the latest now; EAGAIN proves that it was read.
    if (!this.#closed) this.#drain();
    this.#onClosed();
    this.#finish();
  }

  #drain(): void {
    this.#stream.pause();
    for (let drained = 0; drained < MAX_DRAIN; ) {
      let bytes = 0;
      try {
        bytes = readSync(this.#fd, READ_BUFFER, 0, READ_BUFFER.length, null);
      } catch {
        return; // EAGAIN: empty. EIO: empty and closed.
      }
      if (bytes === 0) return;
      drained += bytes;
      this.#listener.output(Buffer.from(READ_BUFFER.subarray(0, bytes)));
    }
  }

  #finish(): void {
    if (this.#ended || !this.#closed || this.#exit === undefined) return;
    this.#ended = true;
    this.#listener.exit(this.#exit);
  }

  /**
   * Writes straight to the descriptor, which does not block: a key reaches the program without a turn of the event
   * loop. What a full buffer refuses is tried again, ever more slowly, for as long as it takes.
   */
  #flushInput(): void {
    this.#inputTimer = undefined;
    for (let next = this.#input[0]; next !== undefined; next = this.#input[0]) {
      let written = 0;
      try {
        written = writeSync(this.#fd, next);
      } catch (error) {
        if (!isAgain(error)) {
          this.#onClosed();
          return;
        }
      }
      if (written > 0) this.#inputDelay = 1;
      this.#inputBytes -= written;
      if (written === next.length) {
        this.#input.shift();
        continue;
      }
      this.#input[0] = next.subarray(written);
      this.#inputTimer = setTimeout(() => this.#flushInput(), this.#inputDelay);
      this.#inputDelay = Math.min(this.#inputDelay * 2, 50);
      return;
    }
  }
}

function isAgain(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'EINTR');
}

function signalName(number: number): string {
  for (const [name, value] of Object.entries(constants.signals)) if (value === number) return name;
  return `SIG${number}`;
}

/** A child that cannot start would only print a line and exit with 1; this says it before there is a terminal. */
function checkFolder(cwd: string): void {
  if (isAbsolute(cwd) && isFolder(cwd)) return;
  throw new FairleadError('terminal.refused', `The folder ${cwd} to start in does not exist.`, {
    hint: 'Check that the worktree is there.',
  });
}

/** As execvp(3) looks it up: with a slash relative to the folder, else in the PATH of its own environment. */
function checkProgram(program: string, { cwd, env }: PtyOptions): void {
  const candidates = program.includes('/')
    ? [isAbsolute(program) ? program : join(cwd, program)]
    : (env.PATH ?? '/bin:/usr/bin')
        .split(delimiter)
        .map((folder) => join(folder === '' ? cwd : folder, program));
  if (program !== '' && candidates.some(isExecutable)) return;
  throw new FairleadError('terminal.refused', `The program ${program} was not found.`, {
    hint: 'Install it, or correct PATH or the command.',
  });
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function isExecutable(file: string): boolean {
  try {
    const stat = statSync(file);
    return stat.isFile() && (stat.mode & 0o111) !== 0;
  } catch {
    return false;
  }
}
