import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { FairleadError } from './errors.ts';
import type { FrameSocket } from './frame-socket.ts';
import {
  AttachedSchema,
  type AttachParams,
  ackFrame,
  type Exit,
  ExitSchema,
  errorOfFault,
  FLOW,
  type Frame,
  FrameType,
  inputFrame,
  parseJson,
  readDataFrame,
  readSnapshotFrame,
  type Size,
  SizeSchema,
  type SnapshotHeader,
  type TerminalInfo,
  WireFaultSchema,
} from './ptywire.ts';
import { greet } from './wire-greeting.ts';

export interface Snapshot extends SnapshotHeader {
  /** Escape sequences and text for a terminal that was just reset and has `cols` × `rows`. */
  bytes: Buffer;
}

export interface AttachmentEvents {
  /** Replaces everything shown so far. Where `more` is set, a `whole` one with the kept rows follows at once. */
  snapshot: [snapshot: Snapshot];
  /** Output that follows what came before without a gap. */
  data: [bytes: Buffer, position: number];
  /** The terminal has another size from this point of the output on. */
  resize: [size: Size];
  /** The program ended and all its output was delivered. */
  exit: [exit: Exit];
  /** The host refused something (input that the program does not read); the connection goes on. */
  fault: [error: FairleadError];
  /** The connection ended without an exit: the ptyhost died or detached this client. Not after `detach`. */
  lost: [reason: FairleadError];
}

export interface AttachmentOptions extends Omit<AttachParams, 'ticket'> {
  /** Name and version of this program. */
  client: string;
  /**
   * Whether the caller says with {@link Attachment.processed} how far it is. Otherwise everything counts as processed
   * when its listeners return.
   */
  manualAck?: boolean;
}

/**
 * A byte connection to one terminal. Nothing arrives before the next turn of the event loop, so that listeners can be
 * set after {@link Attachment.open} returned.
 */
export class Attachment extends EventEmitter<AttachmentEvents> {
  readonly terminal: TerminalInfo;
  readonly #frames: FrameSocket;
  readonly #ackEvery: number;
  readonly #manualAck: boolean;
  #acked = 0;
  #position = 0;
  #early: Frame[] | undefined = [];
  #over = false;
  /** The connection ended while frames were still kept back. */
  #closed: FairleadError | undefined;

  private constructor(
    frames: FrameSocket,
    terminal: TerminalInfo,
    early: Frame[],
    options: AttachmentOptions,
  ) {
    super();
    this.#frames = frames;
    this.terminal = terminal;
    this.#manualAck = options.manualAck === true;
    this.#ackEvery = Math.min(FLOW.ack, (options.window ?? FLOW.high) / 4);
    this.#early = early;
    frames.listen(
      (frame) => {
        if (this.#early === undefined) this.#onFrame(frame);
        else this.#early.push(frame);
      },
      (reason) => this.#onClose(reason),
    );
    setImmediate(() => {
      const frames = this.#early ?? [];
      this.#early = undefined;
      for (const frame of frames) this.#onFrame(frame);
      if (this.#closed !== undefined) this.#finish(this.#closed);
    });
  }

  /**
   * Presents a ticket on a connected socket, which the attachment owns from here on.
   * @throws FairleadError `terminal.ticket-refused`, `ptyhost.lost`, `client.too-new`, `client.too-old`
   */
  static async open(socket: Socket, ticket: string, options: AttachmentOptions): Promise<Attachment> {
    const { client, manualAck: _, ...params } = options;
    const { frames } = await greet(socket, client);
    return await new Promise((resolve, reject) => {
      const early: Frame[] = [];
      let attachment: Attachment | undefined;
      frames.listen(
        (frame) => {
          if (frame.type === FrameType.fault) {
            reject(errorOfFault(parseJson(WireFaultSchema, frame.payload)));
          } else if (frame.type === FrameType.attached && attachment === undefined) {
            const { terminal } = parseJson(AttachedSchema, frame.payload);
            attachment = new Attachment(frames, terminal, early, options);
            resolve(attachment);
          }
        },
        (reason) => reject(reason ?? new FairleadError('ptyhost.lost', 'The ptyhost closed the connection.')),
      );
      frames.sendJson(FrameType.attach, { ticket, ...params });
    });
  }

  /** Position behind the last byte that was delivered. */
  get position(): number {
    return this.#position;
  }

  /** Keys and pastes for the program. */
  write(data: string | Uint8Array): void {
    if (this.#over) return;
    this.#frames.send(inputFrame(typeof data === 'string' ? Buffer.from(data, 'utf8') : data));
  }

  resize(size: Size): void {
    if (!this.#over) this.#frames.sendJson(FrameType.resize, { cols: size.cols, rows: size.rows });
  }

  /** With `manualAck`: everything before `position` is on the caller's screen. */
  processed(position: number): void {
    if (this.#over || position <= this.#acked) return;
    this.#acked = position;
    this.#frames.send(ackFrame(position));
  }

  /** Leaves; the program goes on. */
  detach(): void {
    this.#over = true;
    this.#frames.end();
  }

  #onFrame({ type, payload }: Frame): void {
    if (this.#over) return;
    switch (type) {
      case FrameType.data: {
        const { position, bytes } = readDataFrame(payload);
        if (position !== this.#position) {
          throw new FairleadError(
            'ptyhost.protocol',
            `Output at ${position} where ${this.#position} was due.`,
          );
        }
        this.#position = position + bytes.length;
        this.emit('data', bytes, position);
        if (!this.#manualAck && this.#position - this.#acked >= this.#ackEvery)
          this.processed(this.#position);
        return;
      }
      case FrameType.snapshot: {
        const { header, bytes } = readSnapshotFrame(payload);
        this.#position = header.position;
        this.emit('snapshot', { ...header, bytes });
        if (!this.#manualAck && !header.more) this.processed(header.position);
        return;
      }
      case FrameType.resize:
        this.emit('resize', parseJson(SizeSchema, payload));
        return;
      case FrameType.exit: {
        const exit = parseJson(ExitSchema, payload);
        this.#over = true;
        this.#frames.end();
        this.emit('exit', exit);
        return;
      }
      case FrameType.fault:
        this.emit('fault', errorOfFault(parseJson(WireFaultSchema, payload)));
        return;
    }
  }

  #onClose(reason: FairleadError | undefined): void {
    this.#closed =
      reason ??
      new FairleadError('ptyhost.lost', 'The connection to the terminal ended.', {
        hint: 'Attach again; if the terminal is gone, start the session again.',
      });
    if (this.#early === undefined) this.#finish(this.#closed);
  }

  #finish(reason: FairleadError): void {
    if (this.#over) return;
    this.#over = true;
    this.emit('lost', reason);
  }
}
