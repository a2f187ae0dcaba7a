import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { PrivateSocket } from '../platform/private-socket.ts';
import type { FairleadError } from '../protocol/errors.ts';
import { Client, type ClientHost, type Handlers } from './client.ts';

/** What the server tells, and is told, of its clients. */
export interface ServerHost extends ClientHost {
  /** A client came or left. */
  changed(): void;
  /** Whether the socket is still this process's to make. */
  mayServe?(): boolean;
}

/** The sidecar's socket: any number of clients, each with a connection of its own. */
export class SocketServer {
  readonly #clients = new Set<Client>();
  readonly #handlers: Handlers;
  readonly #host: ServerHost;
  readonly #clock: Clock;
  readonly #log: Log;
  #socket: PrivateSocket | undefined;

  constructor(handlers: Handlers, host: ServerHost, clock: Clock, log: Log) {
    this.#handlers = handlers;
    this.#host = host;
    this.#clock = clock;
    this.#log = log;
  }

  get clients(): ReadonlySet<Client> {
    return this.#clients;
  }

  /** Listens at `path`: the caller holds the lock that says that no other process serves it. */
  async listen(path: string): Promise<void> {
    const accept = (connection: ConstructorParameters<typeof Client>[0]) => {
      const client = new Client(connection, this.#handlers, this.#host, this.#clock, this.#log);
      this.#clients.add(client);
      this.#host.changed();
      client.gone.addEventListener('abort', () => {
        this.#clients.delete(client);
        this.#host.changed();
      });
    };
    this.#socket = new PrivateSocket(
      path,
      accept,
      this.#clock,
      this.#log,
      () => this.#host.mayServe?.() ?? true,
    );
    await this.#socket.open();
  }

  /** Takes no more clients. Those that are there stay. */
  stopListening(): void {
    this.#socket?.close();
    this.#socket = undefined;
  }

  /** Takes no more requests and cancels those that are under way; resolves when they have ended. */
  async endRequests(reason: FairleadError): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.endRequests(reason)));
  }

  /** Lets every client go; resolves when they have gone. */
  async close(): Promise<void> {
    this.stopListening();
    const leaving = [...this.#clients].map(
      (client) => new Promise<void>((resolve) => client.gone.addEventListener('abort', () => resolve())),
    );
    for (const client of this.#clients) client.close();
    await Promise.all(leaving);
  }
}
