import { FairleadError, isErrorCode } from './errors.ts';
import { type Exchange, exchange } from './exchange.ts';
import * as z from './zod.ts';

/**
 * The wire between a ptyhost and its clients, version 1. Frozen: a ptyhost outlives the programs that talk to it,
 * so fields and frame types are only ever added, and whoever reads ignores what it does not know.
 *
 * A frame is `u32 length of the payload, big endian · u8 type · payload`. Types below 0x40 carry one JSON object,
 * types from 0x40 on carry bytes. Both sides open with a `hello`; the client then either sends requests (a control
 * connection) or one `attach` with a ticket (a byte connection to one terminal).
 *
 * Positions count the bytes of one terminal's output from its start, after the removal of OSC 7501. Snapshot, data
 * and acknowledgement all speak of positions, so that they join without gap or repeat.
 */
export const WIRE_VERSIONS: readonly number[] = [1];

/** Longest payload either side accepts, in bytes. A longer one ends the connection. */
export const MAX_PAYLOAD_BYTES = 32 * 1024 * 1024;

export const FRAME_HEADER_BYTES = 5;

export const FrameType = {
  /** Both ways, first frame: {@link HelloSchema} or {@link HostHelloSchema}. */
  hello: 0x01,
  /** Either way: {@link WireFaultSchema}. Not tied to a request; the connection may go on. */
  fault: 0x02,
  /** Client to host, control: {@link RequestSchema}. */
  request: 0x03,
  /** Host to client, control: {@link ResponseSchema}. */
  response: 0x04,
  /** Host to client, control, after `subscribe`: {@link HostEventSchema}. */
  event: 0x05,
  /** Client to host, bytes: {@link AttachSchema}. */
  attach: 0x10,
  /** Host to client, bytes: {@link AttachedSchema}. */
  attached: 0x11,
  /** Client to host: {@link SizeSchema}, a wish. Host to client: the size from this point of the output on. */
  resize: 0x12,
  /** Host to client, bytes, after the last output: {@link ExitSchema}. Nothing follows. */
  exit: 0x13,
  /** Host to client: `u32 header length · header JSON` ({@link SnapshotHeaderSchema}) `· bytes`. */
  snapshot: 0x40,
  /** Host to client: `u64 position of the first byte · bytes`. */
  data: 0x41,
  /** Client to host: bytes for the program's input. */
  input: 0x42,
  /** Client to host: `u64 position` up to which everything was processed. Absolute, so a lost one costs nothing. */
  ack: 0x43,
} as const;

/**
 * Flow control of one byte connection, in bytes. VS Code's own numbers (`FlowControlConstants` in its
 * `terminalProcess.ts`): no more is sent once `high` bytes are unacknowledged, sending goes on below `low`, the
 * client acknowledges at least every `ack`. A client may ask for a larger window; `low` stays below it.
 */
export const FLOW = { high: 100_000, low: 5_000, ack: 5_000, maxWindow: 4 * 1024 * 1024 } as const;

/** Rows that are kept parsed above the visible screen unless the creator asks for another number. */
export const DEFAULT_KEPT_ROWS = 1_000;

export const SizeSchema = z.object({
  cols: z.int().check(z.gte(1), z.lte(10_000)),
  rows: z.int().check(z.gte(1), z.lte(10_000)),
});
export type Size = z.infer<typeof SizeSchema>;

export const HelloSchema = z.object({
  /** Wire versions the client speaks. */
  versions: z.array(z.int()).check(z.minLength(1)),
  /** Name and version of the program, for the log. */
  client: z.string().check(z.maxLength(200)),
});
export type Hello = z.infer<typeof HelloSchema>;

export const HostHelloSchema = z.object({
  /** The version that this connection speaks: the highest that both know. */
  version: z.int(),
  /** Every wire version the host speaks. */
  versions: z.array(z.int()),
  /** Version and build id of the ptyhost program. */
  host: z.string(),
  build: z.string(),
  pid: z.int(),
  /** Milliseconds since the epoch. */
  startedAt: z.number(),
  /** Changes with every start of a ptyhost: two answers with the same value come from the same process. */
  instance: z.string(),
});
export type HostHello = z.infer<typeof HostHelloSchema>;

export const WireFaultSchema = z.object({
  code: z.string(),
  message: z.string(),
  hint: z.optional(z.string()),
  /** The frame type or method that was not understood. */
  about: z.optional(z.string()),
});
export type WireFault = z.infer<typeof WireFaultSchema>;

export const TerminalIdSchema = z.uuid();

/** How a program ended: exactly one of the two is not null. */
export const ExitSchema = z.object({
  /** 0–255. */
  exitCode: z.nullable(z.int()),
  /** Name of the signal, such as `SIGKILL`. */
  signal: z.nullable(z.string()),
});
export type Exit = z.infer<typeof ExitSchema>;

export const PROGRAM_STATES = ['idle', 'working', 'blocked', 'done', 'error', 'clear'] as const;

/** One report of the Program Status Protocol (OSC 7501). Its message may hold commands and paths: treat as secret. */
export const ProgramStatusSchema = z.object({
  state: z.enum(PROGRAM_STATES),
  /** The state as the program wrote it, where that is none of these; `state` is `blocked` then: it may need somebody. */
  reported: z.optional(z.string()),
  app: z.optional(z.string()),
  /** Of `blocked`: `permission`, `question`, `auth`, … */
  kind: z.optional(z.string()),
  /** Decoded, without control characters, at most 4 KiB. */
  msg: z.optional(z.string()),
  /** Of a child record; absent for the program's own. */
  id: z.optional(z.string()),
  /** As the program wrote it. */
  progress: z.optional(z.string()),
});
export type ProgramStatus = z.infer<typeof ProgramStatusSchema>;

/** A report with the time at which it came, in milliseconds since the epoch. */
export const StatusReportSchema = z.extend(ProgramStatusSchema, {
  /** Milliseconds since the epoch. */
  at: z.number(),
  /** Of one that is `blocked`: when its program last said to be anything else. Absent when it never did. */
  freeAt: z.optional(z.number()),
});
export type StatusReport = z.infer<typeof StatusReportSchema>;

export const TerminalInfoSchema = z.object({
  id: z.string(),
  /** Of the program; also its process group and session. */
  pid: z.int(),
  argv: z.array(z.string()),
  cwd: z.string(),
  cols: z.int(),
  rows: z.int(),
  /** Milliseconds since the epoch. */
  startedAt: z.number(),
  /** Of the last output; `startedAt` before there is any. */
  lastOutputAt: z.number(),
  /** Bytes of output so far. */
  position: z.number(),
  title: z.string(),
  /** The latest report of each child id, the program's own first. */
  status: z.array(StatusReportSchema),
  /** Byte connections that are open. */
  clients: z.int(),
  exited: z.optional(z.extend(ExitSchema, { at: z.number() })),
});
export type TerminalInfo = z.infer<typeof TerminalInfoSchema>;

export const CreateSchema = z.extend(SizeSchema, {
  /** Chosen by the caller. The same id again answers the terminal that is there: a repeated create is harmless. */
  id: TerminalIdSchema,
  /** Program and arguments; the program is looked up in the `PATH` of `env`. */
  argv: z.array(z.string()).check(z.minLength(1)),
  /** An absolute path. */
  cwd: z.string().check(z.minLength(1)),
  /** The whole environment; only TERM and COLORTERM are added when they are absent. */
  env: z.record(z.string(), z.string()),
  rowsKept: z._default(z.int().check(z.gte(0), z.lte(100_000)), DEFAULT_KEPT_ROWS),
});
export type CreateParams = z.input<typeof CreateSchema>;

const ById = z.object({ id: z.string() });

/** Every request of a control connection: its parameters and its result. */
export const METHODS = {
  /** Starts a program. Fails with `terminal.refused` when cwd or program are missing or no PTY is to be had. */
  create: exchange(
    () => CreateSchema,
    () => z.object({ terminal: TerminalInfoSchema, created: z.boolean() }),
  ),
  list: exchange(
    () => z.object({}),
    () => z.object({ terminals: z.array(TerminalInfoSchema) }),
  ),
  /** Text for the program's input, as UTF-8. */
  write: exchange(
    () => z.extend(ById, { data: z.string() }),
    () => z.object({}),
  ),
  resize: exchange(
    () => z.extend(ById, SizeSchema.shape),
    () => z.object({}),
  ),
  /**
   * Sends `signal` to the program, everything in its session and all its descendants; what is alive after `graceMs`
   * gets SIGKILL. Answers at once; the end comes as an `exit` event. Harmless when the program has ended.
   */
  kill: exchange(
    () =>
      z.extend(ById, {
        signal: z._default(z.enum(['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGKILL']), 'SIGTERM'),
        graceMs: z._default(z.int().check(z.gte(0), z.lte(600_000)), 5_000),
      }),
    () => z.object({}),
  ),
  /** Drops a terminal that has exited, with all that is kept of it. A missing one is no error, a live one is. */
  forget: exchange(
    () => ById,
    () => z.object({}),
  ),
  /** What is on the screen at this moment: all output up to `position` is in it. */
  screen: exchange(
    () =>
      z.extend(ById, {
        /** Also answer `ansi`: a text that paints screen and modes on a terminal that was just reset. */
        ansi: z._default(z.boolean(), false),
        /** Kept rows above the screen to include in `ansi`. */
        scrollback: z._default(z.int().check(z.gte(0)), 0),
      }),
    () =>
      z.object({
        /** Rows from top to bottom, without trailing blanks. */
        text: z.array(z.string()),
        cursor: z.object({ x: z.int(), y: z.int(), hidden: z.boolean() }),
        alternate: z.boolean(),
        title: z.string(),
        cols: z.int(),
        rows: z.int(),
        position: z.number(),
        ansi: z.optional(z.string()),
      }),
  ),
  /** Raw output from the disk, base64: at most `bytes` of it that end at `before` (default: the newest). */
  scrollback: exchange(
    () =>
      z.extend(ById, {
        before: z.optional(z.number()),
        bytes: z._default(z.int().check(z.gte(1), z.lte(8 * 1024 * 1024)), 256 * 1024),
      }),
    () => z.object({ start: z.number(), data: z.string() }),
  ),
  /** A ticket that opens one byte connection to one terminal, once, within `ttlMs`. */
  ticket: exchange(
    () => z.extend(ById, { ttlMs: z._default(z.int().check(z.gte(1), z.lte(600_000)), 30_000) }),
    () => z.object({ ticket: z.string(), expiresAt: z.number() }),
  ),
  /** From here on events come on this connection; answers what is there, so that nothing falls in between. */
  subscribe: exchange(
    () => z.object({}),
    () => z.object({ terminals: z.array(TerminalInfoSchema) }),
  ),
  /** Ends the host when no terminal is alive, or with `force` in any case (SIGHUP to every program). */
  shutdown: exchange(
    () => z.object({ force: z._default(z.boolean(), false) }),
    () => z.object({ ending: z.boolean() }),
  ),
  ping: exchange(
    () => z.object({}),
    () => z.object({}),
  ),
} as const satisfies Record<string, Exchange<z.ZodMiniType, z.ZodMiniType>>;

export type Method = keyof typeof METHODS;
export type ParamsOf<M extends Method> = z.input<(typeof METHODS)[M]['params']>;
export type ParsedParamsOf<M extends Method> = z.output<(typeof METHODS)[M]['params']>;
export type ResultOf<M extends Method> = z.output<(typeof METHODS)[M]['result']>;

export const RequestSchema = z.object({ id: z.int(), method: z.string(), params: z.unknown() });
export type Request = z.infer<typeof RequestSchema>;

export const ResponseSchema = z.object({
  id: z.int(),
  result: z.optional(z.unknown()),
  error: z.optional(WireFaultSchema),
});
export type Response = z.infer<typeof ResponseSchema>;

export const HostEventSchema = z.discriminatedUnion('event', [
  /** The program ended, and all its output was read. */
  z.object({ event: z.literal('exit'), id: z.string(), exit: ExitSchema, at: z.number() }),
  z.object({ event: z.literal('status'), id: z.string(), status: StatusReportSchema }),
  z.object({ event: z.literal('title'), id: z.string(), title: z.string() }),
  /** At most one in 250 ms for each terminal. */
  z.object({ event: z.literal('bell'), id: z.string() }),
  /** There was output; at most one in 500 ms for each terminal, and always one for the last. */
  z.object({ event: z.literal('activity'), id: z.string(), at: z.number(), position: z.number() }),
  /** The host ends: `idle` with nothing alive, or `asked` by signal or request. */
  z.object({ event: z.literal('shutdown'), reason: z.enum(['idle', 'asked']) }),
]);
export type HostEvent = z.infer<typeof HostEventSchema>;

export const AttachSchema = z.object({
  ticket: z.string(),
  /** The client's size; the terminal takes it. Without it the terminal keeps its own. */
  size: z.optional(SizeSchema),
  /** Most unacknowledged bytes; see {@link FLOW}. */
  window: z._default(z.int().check(z.gte(FLOW.low), z.lte(FLOW.maxWindow)), FLOW.high),
  /** Whether the client answers terminal queries (DA, DSR, CPR, OSC 10/11); while one does, the host does not. */
  answersQueries: z._default(z.boolean(), true),
  /** Kept rows wanted above the screen. With 0 no `whole` snapshot is sent. */
  scrollback: z._default(z.int().check(z.gte(0), z.lte(100_000)), DEFAULT_KEPT_ROWS),
});
export type AttachParams = z.input<typeof AttachSchema>;

export const AttachedSchema = z.object({ terminal: TerminalInfoSchema });
export type Attached = z.infer<typeof AttachedSchema>;

/**
 * A snapshot comes in one or two frames at the same position: `screen` paints the visible screen and every mode on a
 * terminal that was just reset; `whole` does the same with the kept rows above it, and replaces `screen`.
 */
export const SnapshotHeaderSchema = z.object({
  part: z.enum(['screen', 'whole']),
  /** Whether a `whole` frame follows this one. */
  more: z.boolean(),
  /** Why: the client just attached, or it lagged and output in between was left out. */
  reason: z.enum(['attach', 'lag']),
  /** Position at which the live output goes on. */
  position: z.number(),
  cols: z.int(),
  rows: z.int(),
});
export type SnapshotHeader = z.infer<typeof SnapshotHeaderSchema>;

export interface Frame {
  type: number;
  payload: Buffer;
}

/** The bytes of a frame that carries JSON. */
export function jsonFrame(type: number, value: unknown): Buffer {
  const payload = Buffer.from(JSON.stringify(value), 'utf8');
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length);
  frame.writeUInt32BE(payload.length, 0);
  frame.writeUInt8(type, 4);
  payload.copy(frame, FRAME_HEADER_BYTES);
  return frame;
}

/** The header of a data frame whose `bytes` bytes follow; header and bytes can so be written without a copy. */
export function dataFrameHeader(position: number, bytes: number): Buffer {
  const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES + 8);
  header.writeUInt32BE(8 + bytes, 0);
  header.writeUInt8(FrameType.data, 4);
  writePosition(header, FRAME_HEADER_BYTES, position);
  return header;
}

/** Splits the payload of a data frame. */
export function readDataFrame(payload: Buffer): { position: number; bytes: Buffer } {
  if (payload.length < 8) throw broken('A data frame is shorter than its position.');
  return { position: readPosition(payload, 0), bytes: payload.subarray(8) };
}

export function inputFrame(bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + bytes.length);
  frame.writeUInt32BE(bytes.length, 0);
  frame.writeUInt8(FrameType.input, 4);
  frame.set(bytes, FRAME_HEADER_BYTES);
  return frame;
}

export function ackFrame(position: number): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + 8);
  frame.writeUInt32BE(8, 0);
  frame.writeUInt8(FrameType.ack, 4);
  writePosition(frame, FRAME_HEADER_BYTES, position);
  return frame;
}

export function readAckFrame(payload: Buffer): number {
  if (payload.length < 8) throw broken('An acknowledgement is shorter than its position.');
  return readPosition(payload, 0);
}

export function snapshotFrame(header: SnapshotHeader, bytes: Uint8Array): Buffer {
  const json = Buffer.from(JSON.stringify(header), 'utf8');
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + 4 + json.length + bytes.length);
  frame.writeUInt32BE(4 + json.length + bytes.length, 0);
  frame.writeUInt8(FrameType.snapshot, 4);
  frame.writeUInt32BE(json.length, FRAME_HEADER_BYTES);
  json.copy(frame, FRAME_HEADER_BYTES + 4);
  frame.set(bytes, FRAME_HEADER_BYTES + 4 + json.length);
  return frame;
}

export function readSnapshotFrame(payload: Buffer): { header: SnapshotHeader; bytes: Buffer } {
  if (payload.length < 4) throw broken('A snapshot has no header.');
  const end = 4 + payload.readUInt32BE(0);
  if (end > payload.length) throw broken('The header of a snapshot is longer than its frame.');
  return { header: parseJson(SnapshotHeaderSchema, payload.subarray(4, end)), bytes: payload.subarray(end) };
}

/** Cuts a stream of bytes, however it was split, into frames. */
export class FrameDecoder {
  #parts: Buffer[] = [];
  #bytes = 0;

  /** The frames that `chunk` completes. A payload may share memory with `chunk`. @throws FairleadError `ptyhost.protocol` */
  push(chunk: Buffer): Frame[] {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    const frames: Frame[] = [];
    for (let need = this.#needed(); this.#bytes >= need; need = this.#needed()) {
      const whole = this.#flat();
      let at = 0;
      while (whole.length - at >= FRAME_HEADER_BYTES) {
        const length = whole.readUInt32BE(at);
        if (whole.length - at - FRAME_HEADER_BYTES < length) break;
        const start = at + FRAME_HEADER_BYTES;
        frames.push({ type: whole.readUInt8(at + 4), payload: whole.subarray(start, start + length) });
        at = start + length;
      }
      const rest = whole.subarray(at);
      this.#parts = rest.length === 0 ? [] : [rest];
      this.#bytes = rest.length;
    }
    return frames;
  }

  /** Bytes that the next frame needs in all, as far as its header is known; joining before is work for nothing. */
  #needed(): number {
    if (this.#bytes < FRAME_HEADER_BYTES) return FRAME_HEADER_BYTES;
    if ((this.#parts[0]?.length ?? 0) < FRAME_HEADER_BYTES) this.#flat();
    const length = this.#parts[0]?.readUInt32BE(0) ?? 0;
    if (length > MAX_PAYLOAD_BYTES) throw broken(`A frame of ${length} bytes is longer than the limit.`);
    return FRAME_HEADER_BYTES + length;
  }

  #flat(): Buffer {
    const [first, ...more] = this.#parts;
    if (first !== undefined && more.length === 0) return first;
    const whole = Buffer.concat(this.#parts);
    this.#parts = [whole];
    return whole;
  }
}

/** Parses the payload of a JSON frame. @throws FairleadError `ptyhost.protocol` */
export function parseJson<T extends z.ZodMiniType>(schema: T, payload: Uint8Array): z.output<T> {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(payload).toString('utf8'));
  } catch (cause) {
    throw broken('A frame that should carry JSON does not.', cause);
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success)
    throw broken(`A frame has an unexpected shape: ${z.prettifyError(parsed.error)}`, parsed.error);
  return parsed.data;
}

/** The error that a fault on the wire stands for. A code of a later version is `internal`, with its sentence kept. */
export function errorOfFault(fault: WireFault): FairleadError {
  return new FairleadError(isErrorCode(fault.code) ? fault.code : 'internal', fault.message, {
    ...(fault.hint === undefined ? {} : { hint: fault.hint }),
    data: { code: fault.code, ...(fault.about === undefined ? {} : { about: fault.about }) },
  });
}

export function faultOfError(error: FairleadError, about?: string): WireFault {
  return {
    code: error.code,
    message: error.message,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(about === undefined ? {} : { about }),
  };
}

/** The highest version in both lists, or undefined. */
export function commonVersion(ours: readonly number[], theirs: readonly number[]): number | undefined {
  const common = ours.filter((version) => theirs.includes(version));
  return common.length === 0 ? undefined : Math.max(...common);
}

function writePosition(buffer: Buffer, at: number, position: number): void {
  buffer.writeUInt32BE(Math.floor(position / 0x1_0000_0000), at);
  buffer.writeUInt32BE(position % 0x1_0000_0000, at + 4);
}

function readPosition(buffer: Buffer, at: number): number {
  return buffer.readUInt32BE(at) * 0x1_0000_0000 + buffer.readUInt32BE(at + 4);
}

function broken(message: string, cause?: unknown): FairleadError {
  return new FairleadError('ptyhost.protocol', message, {
    hint: 'Client and ptyhost disagree about their wire format; run `fairlead doctor`.',
    ...(cause === undefined ? {} : { cause }),
  });
}
