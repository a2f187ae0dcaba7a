import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { Client, type ClientHost, type Handlers } from './client.ts';

/** What the server tells, and is told, of its clients. */
export interface ServerHost extends ClientHost {
  /** A client came or left. */
  changed(): void;
}

/** The sidecar's socket: any number of clients, each with a connection of its own. */
export class SocketServer {
  readonly #server: Server;
  readonly #clients = new Set<Client>();
  #path = '';

  constructor(handlers: Handlers, host: ServerHost, clock: Clock, log: Log) {
    this.#server = createServer((socket) => {
      const client = new Client(socket, handlers, host, clock, log);
      this.#clients.add(client);
      host.changed();
      client.gone.addEventListener('abort', () => {
        this.#clients.delete(client);
        host.changed();
      });
    });
    this.#server.on('error', (error) => log.error('server', { error }));
  }

  get clients(): ReadonlySet<Client> {
    return this.#clients;
  }

  /**
   * Listens on a socket that this user alone can open. A dead one in its place is removed: the caller holds the lock
   * that says that no other process serves it.
   */
  listen(path: string): Promise<void> {
    this.#path = path;
    rmSync(path, { force: true });
    return new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      // Children inherit the umask: it differs only for the instant in which the socket is made.
      const umask = process.umask(0o177);
      try {
        this.#server.listen(path, () => {
          this.#server.off('error', reject);
          chmodSync(path, 0o600);
          resolve();
        });
      } finally {
        process.umask(umask);
      }
    });
  }

  /** Stops listening and lets every client go. */
  async close(): Promise<void> {
    for (const client of this.#clients) client.close();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    rmSync(this.#path, { force: true });
  }
}
