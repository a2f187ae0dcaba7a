import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import type { Log } from '../platform/log.ts';
import type { SidecarInfo } from '../protocol/protocol.ts';
import { Client, type Handlers } from './client.ts';

/** What the server tells, and is told, of its clients. */
export interface ServerHost {
  info(): SidecarInfo;
  /** The client has said who it is. */
  introduced(client: Client): void;
  /** A client came or left. */
  changed(): void;
}

/** The sidecar's socket: any number of clients, each with a connection of its own. */
export class SocketServer {
  readonly #server: Server;
  readonly #clients = new Set<Client>();
  #path = '';

  constructor(handlers: Handlers, log: Log, host: ServerHost) {
    this.#server = createServer((socket) => {
      const client = new Client(socket, handlers, host, log);
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

  /** Listens on a socket that this user alone can open. */
  listen(path: string): Promise<void> {
    this.#path = path;
    rmSync(path, { force: true });
    return new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      // Agents inherit the umask: it may differ only for the instant in which the socket is made.
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

  async close(): Promise<void> {
    rmSync(this.#path, { force: true });
    for (const client of this.#clients) client.close();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
