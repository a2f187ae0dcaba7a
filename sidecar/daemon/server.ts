import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import type { Log } from '../platform/log.ts';
import type { SidecarInfo } from '../protocol/protocol.ts';
import { Client, type Handlers } from './client.ts';

/** The sidecar's socket: any number of clients, each with a connection of its own. */
export class SocketServer {
  readonly #server: Server;
  readonly #clients = new Set<Client>();
  readonly #onCount: (clients: number) => void;
  #path = '';

  constructor(handlers: Handlers, self: () => SidecarInfo, log: Log, onCount: (clients: number) => void) {
    this.#onCount = onCount;
    this.#server = createServer((socket) => {
      const client = new Client(socket, handlers, self, log);
      this.#clients.add(client);
      onCount(this.#clients.size);
      client.gone.addEventListener('abort', () => {
        this.#clients.delete(client);
        this.#onCount(this.#clients.size);
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
    const umask = process.umask(0o177);
    return new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(path, () => {
        this.#server.off('error', reject);
        chmodSync(path, 0o600);
        resolve();
      });
    }).finally(() => process.umask(umask));
  }

  async close(): Promise<void> {
    rmSync(this.#path, { force: true });
    for (const client of this.#clients) client.close();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
