import type { Clock } from '../platform/clock.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { FrameSocket } from '../protocol/frame-socket.ts';
import {
  type AttachSchema,
  dataFrameHeader,
  type Exit,
  FLOW,
  type Frame,
  FrameType,
  parseJson,
  readAckFrame,
  SizeSchema,
  snapshotFrame,
} from '../protocol/ptywire.ts';
import type * as z from '../protocol/zod.ts';
import type { Cursor } from './output-log.ts';
import type { Terminal } from './terminal.ts';
import type { Snapshot, TerminalClient } from './terminal-client.ts';

/**
 * One client's byte stream of one terminal: a snapshot, then the output from there on, no more of it unacknowledged
 * than its window holds. A client that stays too far behind gets another snapshot instead of what it missed.
 */
export class ByteConnection implements TerminalClient {
  readonly answersQueries: boolean;
  readonly #socket: FrameSocket;
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #window: number;
  readonly #low: number;
  readonly #scrollback: number;
  #state: 'joining' | 'live' | 'lagging' = 'joining';
  #cursor: Cursor = { position: 0, serial: 0 };
  /** Acknowledged, or covered by the latest snapshot. */
  #acked = 0;
  /** Position of a snapshot that is not acknowledged yet. */
  #snapshotAt: number | undefined;
  #full = false;
  #heardAt: number;
  #exit: Exit | undefined;
  #finished = false;

  constructor(socket: FrameSocket, terminal: Terminal, params: z.output<typeof AttachSchema>, clock: Clock) {
    this.#socket = socket;
    this.#terminal = terminal;
    this.#clock = clock;
    this.#window = params.window;
    // A client with a larger window acknowledges in larger steps, and its last step may never be full.
    this.#low = params.window > FLOW.high ? params.window / 2 : Math.min(FLOW.low, params.window / 2);
    this.#scrollback = params.scrollback;
    this.answersQueries = params.answersQueries;
    this.#heardAt = clock.monotonic();
    socket.listen(
      (frame) => this.#onFrame(frame),
      () => terminal.detach(this),
    );
    socket.sendJson(FrameType.attached, { terminal: terminal.info() });
    terminal.attach(this, params.size);
  }

  get state(): 'joining' | 'live' | 'lagging' {
    return this.#state;
  }

  get cursor(): Cursor {
    return this.#cursor;
  }

  get full(): boolean {
    return this.#full;
  }

  get heardAt(): number {
    return this.#heardAt;
  }

  get wantsSnapshot(): boolean {
    if (this.#state === 'joining') return true;
    return (
      this.#state === 'lagging' && this.#snapshotAt === undefined && this.#acked >= this.#cursor.position
    );
  }

  snapshot({ at, size, paint, keptRows }: Snapshot): void {
    const rows = Math.min(this.#scrollback, keptRows);
    const header = {
      reason: this.#state === 'joining' ? ('attach' as const) : ('lag' as const),
      position: at.position,
      ...size,
    };
    this.#socket.send(snapshotFrame({ part: 'screen', more: rows > 0, ...header }, Buffer.from(paint(0))));
    if (rows > 0) {
      this.#socket.send(snapshotFrame({ part: 'whole', more: false, ...header }, Buffer.from(paint(rows))));
    }
    this.#state = 'live';
    this.#cursor = at;
    this.#acked = at.position;
    this.#snapshotAt = at.position;
    this.#full = false;
    this.#heardAt = this.#clock.monotonic();
  }

  lag(): void {
    this.#state = 'lagging';
  }

  exited(exit: Exit): void {
    this.#exit = exit;
  }

  pump(): void {
    if (this.#state !== 'live' || this.#finished) return;
    while (!this.#full) {
      const entry = this.#terminal.nextOutput(this.#cursor);
      if (entry === undefined) break;
      if (entry.kind === 'resize') {
        this.#cursor.serial += 1;
        this.#socket.sendJson(FrameType.resize, entry.size);
        continue;
      }
      const bytes = entry.bytes.subarray(this.#cursor.position - entry.position);
      this.#socket.send(dataFrameHeader(this.#cursor.position, bytes.length), bytes);
      this.#cursor.position += bytes.length;
      this.#full = this.#cursor.position - this.#acked >= this.#window;
    }
    if (this.#exit !== undefined && this.#terminal.nextOutput(this.#cursor) === undefined) {
      this.#finished = true;
      this.#socket.sendJson(FrameType.exit, this.#exit);
      this.#socket.end();
    }
  }

  #onFrame({ type, payload }: Frame): void {
    switch (type) {
      case FrameType.input:
        this.#attempt('input', () => this.#terminal.write(Buffer.from(payload)));
        return;
      case FrameType.ack:
        this.#onAck(readAckFrame(payload));
        return;
      case FrameType.resize:
        this.#attempt('resize', () => this.#terminal.resize(parseJson(SizeSchema, payload)));
        return;
      default:
        this.#socket.fault(
          new FairleadError(
            'ptyhost.unsupported',
            `This ptyhost does not know frame type ${type} of a byte connection.`,
          ),
          String(type),
        );
    }
  }

  #attempt(about: string, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#socket.fault(error, about);
    }
  }

  #onAck(position: number): void {
    this.#heardAt = this.#clock.monotonic();
    // A later position than was sent would open the window for good.
    const acked = Math.min(position, this.#cursor.position);
    if (this.#snapshotAt !== undefined && acked >= this.#snapshotAt) this.#snapshotAt = undefined;
    if (acked > this.#acked) this.#acked = acked;
    if (this.#cursor.position - this.#acked <= this.#low) this.#full = false;
    this.#terminal.heard();
  }
}
