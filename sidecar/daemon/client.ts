import type { Socket } from 'node:net';
import {
  CancellationTokenSource,
  createMessageConnection,
  type MessageConnection,
  ResponseError,
  StreamMessageReader,
} from 'vscode-jsonrpc/node';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { asFairleadError, FairleadError, WIRE_ERROR_NUMBER, type WireError } from '../protocol/errors.ts';
import {
  type ClientInfo,
  Initialize,
  type NotificationKind,
  type RequestKind,
  type SidecarInfo,
} from '../protocol/protocol.ts';
import type * as z from '../protocol/zod.ts';
import { MessageLimit } from './message-limit.ts';
import { SocketWriter } from './socket-writer.ts';

/** What the sidecar does for a request. */
export type Handler = (params: unknown, client: Client, until: RequestEnd) => Promise<unknown>;

/** What ends a request before it is answered. */
export interface RequestEnd {
  /** Aborts when the client cancels or leaves, or the sidecar ends. */
  signal: AbortSignal;
  /** Aborts when the client cancels (`cancelled`), or the sidecar ends: for what goes on without who asked for it. */
  revoked: AbortSignal;
}
export type Handlers = ReadonlyMap<string, Handler>;

/** Bytes that may wait for a client to read them; more means that it has stopped reading, and it is let go. */
const MAX_UNSENT_BYTES = 8 * 1024 * 1024;
/** Milliseconds in which a client has to say who it is. */
const INTRODUCTION_MS = 10_000;
/** Milliseconds that a client has to close its side after ours was closed. */
const FAREWELL_MS = 1_000;
/** Messages of one client that may wait to be looked at, which takes microseconds. */
const MAX_WAITING = 5_000;
/** Requests of one client that may be under way at a time. */
const MAX_PENDING = 256;

/** What a connection knows of the process that it belongs to. */
export interface ClientHost {
  info(): SidecarInfo;
  /** The client has said who it is. */
  introduced(client: Client): void;
}

/** One connection: a window, a command. Its end takes nothing else along. */
export class Client {
  readonly #socket: Socket;
  readonly #writer: SocketWriter;
  readonly #connection: MessageConnection;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #gone = new AbortController();
  /** Aborted when the sidecar ends. */
  readonly #closing = new AbortController();
  #pending = 0;
  #settled: (() => void) | undefined;
  #info: ClientInfo | undefined;

  constructor(socket: Socket, handlers: Handlers, host: ClientHost, clock: Clock, log: Log) {
    this.#socket = socket;
    this.#writer = new SocketWriter(socket);
    this.#log = log;
    this.#clock = clock;
    const looked = this.#watch();
    this.#connection = createMessageConnection(new StreamMessageReader(socket), this.#writer, undefined, {
      messageStrategy: {
        handleMessage(message, next) {
          looked();
          return next(message);
        },
      },
    });
    this.#connection.onClose(() => this.#gone.abort(new FairleadError('cancelled', 'The client left.')));
    this.#connection.onError(([error]) => this.#drop('what it sends is no JSON-RPC', error));
    this.#connection.onUnhandledNotification(() => {});
    this.#connection.onRequest('shutdown', () => null);
    this.#connection.onNotification('exit', () => {
      socket.end();
    });
    this.#connection.onRequest(Initialize.method, (params: unknown) => {
      try {
        this.#info = parse(Initialize.params, params).initializationOptions;
        host.introduced(this);
        return { capabilities: {}, fairlead: host.info() };
      } catch (error) {
        throw this.#toWire(Initialize.method, error);
      }
    });
    for (const [method, handler] of handlers) {
      this.#connection.onRequest(method, (params: unknown, token) => {
        if (this.#closing.signal.aborted) throw this.#toWire(method, this.#closing.signal.reason);
        const cancelled = new AbortController();
        token.onCancellationRequested(() => cancelled.abort(new FairleadError('cancelled', 'Cancelled.')));
        const revoked = AbortSignal.any([cancelled.signal, this.#closing.signal]);
        const signal = AbortSignal.any([revoked, this.#gone.signal]);
        this.#pending += 1;
        if (this.#pending > MAX_PENDING) this.#drop('it sends requests without waiting for answers');
        return handler(params, this, { signal, revoked })
          .catch((error: unknown) => {
            throw this.#toWire(method, error);
          })
          .finally(() => {
            this.#pending -= 1;
            if (this.#pending === 0) this.#settled?.();
            if (this.#writer.behind > MAX_UNSENT_BYTES) this.#drop('it does not read');
          });
      });
    }
    this.#connection.listen();
  }

  /** What the client said of itself; undefined before `initialize`. */
  get info(): ClientInfo | undefined {
    return this.#info;
  }

  get environment(): Readonly<Record<string, string>> {
    return this.#info?.environment ?? {};
  }

  /** Bytes that wait for the client to read them. */
  get unsent(): number {
    return this.#socket.writableLength;
  }

  /** Aborted once the connection has ended. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  notify<P extends z.ZodMiniType>(kind: NotificationKind<P>, params: z.input<P>): void {
    if (this.#gone.signal.aborted) return;
    if (this.#writer.behind > MAX_UNSENT_BYTES) {
      this.#drop('it does not read');
      return;
    }
    this.#connection.sendNotification(kind.method, params).catch(() => {});
  }

  /**
   * Asks the client, until it answers or `signal` aborts.
   * @throws FairleadError `cancelled` when it leaves; the reason of `signal`
   */
  async ask<P extends z.ZodMiniType, R extends z.ZodMiniType>(
    kind: RequestKind<P, R>,
    params: z.input<P>,
    signal: AbortSignal,
  ): Promise<z.output<R>> {
    // A connection that ends does not settle what was asked over it.
    const over = AbortSignal.any([this.#gone.signal, signal]);
    over.throwIfAborted();
    const cancel = new CancellationTokenSource();
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const onOver = () => {
      reject(over.reason);
      if (!this.#gone.signal.aborted) cancel.cancel();
    };
    over.addEventListener('abort', onOver, { once: true });
    try {
      const answer = this.#connection.sendRequest(kind.method, params, cancel.token);
      return parse(kind.result, await Promise.race([answer, ended]));
    } finally {
      over.removeEventListener('abort', onOver);
    }
  }

  /** Takes no more requests and cancels those that are under way; resolves when they have ended. */
  endRequests(reason: FairleadError): Promise<void> {
    this.#closing.abort(reason);
    if (this.#pending === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#settled = resolve;
    });
  }

  /** Closes our side; a client that does not close its own is let go after a moment. */
  close(): void {
    this.#socket.end();
    this.#clock.after(FAREWELL_MS, () => this.#socket.destroy());
  }

  /**
   * Lets go of a client that does not keep to the rules before what it does costs anybody else. To be told of each
   * message that is looked at.
   */
  #watch(): () => void {
    const limit = new MessageLimit();
    let looked = 0;
    this.#socket.on('error', (error) => this.#log.debug('client socket', { error }));
    this.#socket.on('data', (chunk: Buffer) => {
      const fault = limit.push(chunk);
      if (fault !== undefined) this.#drop(fault);
      else if (this.#writer.behind > MAX_UNSENT_BYTES) this.#drop('it does not read');
      else if (limit.messages - looked > MAX_WAITING) this.#drop('it floods');
    });
    const cancel = this.#clock.after(INTRODUCTION_MS, () => {
      if (this.#info === undefined) this.#drop('it does not say who it is');
    });
    this.#socket.once('close', cancel);
    return () => {
      looked += 1;
    };
  }

  #drop(why: string, error?: unknown): void {
    if (this.#socket.destroyed) return;
    this.#log.warn('client dropped', { client: this.#info?.name, why, error });
    this.#socket.destroy();
  }

  #toWire(method: string, error: unknown): ResponseError<WireError> {
    if (error instanceof ResponseError) return error;
    const known = asFairleadError(error);
    if (known.code === 'internal') {
      const stack = error instanceof Error ? error.stack : undefined;
      this.#log.error('request failed', { method, error: known.message, stack });
    }
    return new ResponseError<WireError>(WIRE_ERROR_NUMBER, known.message, {
      code: known.code,
      ...(known.hint === undefined ? {} : { hint: known.hint }),
      ...(known.data === undefined ? {} : { data: known.data }),
    });
  }
}

/** @throws FairleadError `params.invalid` naming the fields */
export function parse<T extends z.ZodMiniType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  const faults = issues.map(({ path, message }) => (path === '' ? message : `"${path}": ${message}`));
  throw new FairleadError('params.invalid', `The request cannot be read: ${faults.join('; ')}.`, {
    hint: 'Look at the arguments; a client and a sidecar of different versions may not agree on them.',
    data: issues,
  });
}
