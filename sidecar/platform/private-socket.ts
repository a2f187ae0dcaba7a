import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/** How often the socket file is looked after, in milliseconds. */
const WATCH_MS = 5_000;

/**
 * A unix socket that this user alone can open, and that is made again when somebody removes its file: whoever serves
 * it would be out of reach for good. The caller holds the lock that makes it the only one to serve the path.
 */
export class PrivateSocket {
  readonly #path: string;
  readonly #accept: (connection: Socket) => void;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #mayRestore: () => boolean;
  #server: Server | undefined;
  /** Tells our file from one that another process made in its place. */
  #file: string | undefined;
  #endWatch: (() => void) | undefined;
  #closed = false;

  /** `mayRestore`: whether the path is still the caller's to serve. */
  constructor(
    path: string,
    accept: (connection: Socket) => void,
    clock: Clock,
    log: Log,
    mayRestore: () => boolean = () => true,
  ) {
    this.#mayRestore = mayRestore;
    this.#path = path;
    this.#accept = accept;
    this.#clock = clock;
    this.#log = log;
  }

  /** Listens. A dead file in its place is removed. @throws what listen(2) says */
  async open(): Promise<void> {
    await this.#listen();
    this.#watch();
  }

  /** Stops listening; open connections are the caller's. */
  close(): void {
    this.#closed = true;
    this.#endWatch?.();
    if (this.#server === undefined) return;
    const isOther = fileId(this.#path) !== this.#file && existsSync(this.#path);
    const aside = `${this.#path}.${process.pid}`;
    // Closing removes the file, whosever it is.
    if (isOther) renameSync(this.#path, aside);
    this.#server.close();
    if (isOther) renameSync(aside, this.#path);
  }

  #listen(): Promise<void> {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    rmSync(this.#path, { force: true });
    const server = createServer(this.#accept);
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      // Children inherit the umask: it differs only for the instant in which the socket is made.
      const umask = process.umask(0o177);
      try {
        server.listen(this.#path, () => {
          server.off('error', reject);
          server.on('error', (error) => this.#log.error('socket', { path: this.#path, error }));
          chmodSync(this.#path, 0o600);
          this.#file = fileId(this.#path);
          resolve();
        });
      } finally {
        process.umask(umask);
      }
    });
  }

  #watch(): void {
    this.#endWatch = this.#clock.after(WATCH_MS, () => {
      void this.#restore().finally(() => {
        if (!this.#closed) this.#watch();
      });
    });
  }

  async #restore(): Promise<void> {
    if (this.#closed || fileId(this.#path) === this.#file || !this.#mayRestore()) return;
    this.#log.warn('socket is gone, made again', { path: this.#path });
    // Connections that are open stay; only the listening end is replaced.
    this.#server?.close();
    try {
      await this.#listen();
    } catch (error) {
      this.#log.error('socket', { path: this.#path, error });
    }
  }
}

function fileId(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  // The number of a removed file is soon given to another.
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}:${stat.ctimeNs}`;
}
