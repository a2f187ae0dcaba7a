import type { Socket } from 'node:net';
import {
  createMessageConnection,
  type MessageConnection,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import { z } from 'zod';
import type { Log } from '../platform/log.ts';
import { asFairleadError, FairleadError, WIRE_ERROR_NUMBER, type WireError } from '../protocol/errors.ts';
import {
  type ClientInfo,
  Initialize,
  type NotificationKind,
  type RequestKind,
  type SidecarInfo,
} from '../protocol/protocol.ts';

/** What the sidecar does for a request. The signal aborts when the client cancels or leaves. */
export type Handler = (params: unknown, client: Client, signal: AbortSignal) => Promise<unknown>;
export type Handlers = ReadonlyMap<string, Handler>;

/** A socket that may hold this many unsent bytes before its events are dropped: a reader that stopped reading. */
const MAX_UNSENT_BYTES = 8 * 1024 * 1024;

/** One connection: a window, a command. Its end takes nothing else along. */
export class Client {
  readonly #socket: Socket;
  readonly #connection: MessageConnection;
  readonly #log: Log;
  readonly #gone = new AbortController();
  #info: ClientInfo | undefined;

  constructor(
    socket: Socket,
    handlers: Handlers,
    host: { info(): SidecarInfo; introduced(client: Client): void },
    log: Log,
  ) {
    this.#socket = socket;
    this.#log = log;
    this.#connection = createMessageConnection(
      new StreamMessageReader(socket),
      new StreamMessageWriter(socket),
    );
    socket.on('error', (error) => log.debug('client socket', { error }));
    this.#connection.onClose(() => this.#gone.abort(new FairleadError('cancelled', 'The client left.')));
    this.#connection.onError(([error]) => log.warn('client connection', { error }));
    this.#connection.onUnhandledNotification(() => {});
    this.#connection.onRequest('shutdown', () => null);
    this.#connection.onNotification('exit', () => {
      socket.end();
    });
    this.#connection.onRequest(Initialize.method, (params: unknown) => {
      this.#info = parse(Initialize.params, params).initializationOptions;
      host.introduced(this);
      return { capabilities: {}, fairlead: host.info() };
    });
    for (const [method, handler] of handlers) {
      this.#connection.onRequest(method, (params: unknown, token) => {
        const cancelled = new AbortController();
        token.onCancellationRequested(() => cancelled.abort(new FairleadError('cancelled', 'Cancelled.')));
        const signal = AbortSignal.any([cancelled.signal, this.#gone.signal]);
        return handler(params, this, signal).catch((error: unknown) => {
          throw this.#toWire(method, error);
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

  /** Aborted once the connection has ended. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  notify<P extends z.ZodType>(kind: NotificationKind<P>, params: z.input<P>): void {
    if (this.#gone.signal.aborted) return;
    if (this.#socket.writableLength > MAX_UNSENT_BYTES) {
      this.#log.warn('client does not read; connection closed', { client: this.#info?.name });
      this.#socket.destroy();
      return;
    }
    this.#connection.sendNotification(kind.method, params).catch(() => {});
  }

  /** Asks the client; rejects when it leaves. */
  async ask<P extends z.ZodType, R extends z.ZodType>(
    kind: RequestKind<P, R>,
    params: z.input<P>,
  ): Promise<z.output<R>> {
    return parse(kind.result, await this.#connection.sendRequest(kind.method, params));
  }

  close(): void {
    this.#socket.end();
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
export function parse<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new FairleadError('params.invalid', z.prettifyError(parsed.error).replaceAll('\n', ' '), {
    hint: 'Check the arguments.',
    data: parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
  });
}
