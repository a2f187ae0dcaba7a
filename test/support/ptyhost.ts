import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import xterm, { type Terminal } from '@xterm/headless';
import { findNode } from '../../sidecar/platform/node-runtime.ts';
import { type Paths, pathsFor } from '../../sidecar/platform/paths.ts';
import { systemProcesses } from '../../sidecar/platform/processes.ts';
import { Attachment, type AttachmentOptions } from '../../sidecar/protocol/attachment.ts';
import type { CreateParams, Exit, HostEvent } from '../../sidecar/protocol/ptywire.ts';
import type { PtyHostClient } from '../../sidecar/terminals/ptyhost-client.ts';
import { connectPtyHost } from '../../sidecar/terminals/ptyhost-daemon.ts';

/** The bundles under test. */
export const DIST = process.env.FAIRLEAD_DIST ?? join(import.meta.dirname, '../../dist');

/** A home of its own with a real ptyhost, started on first use and killed with all its programs by `end`. */
export class PtyHostHarness {
  readonly home = mkdtempSync(join(tmpdir(), 'fl-pty-'));
  readonly paths: Paths = pathsFor({ FAIRLEAD_HOME: this.home });
  readonly #pids = new Set<number>();
  readonly #sockets = new Set<Socket>();
  #clients: PtyHostClient[] = [];

  async client(options: { idleMs?: number } = {}): Promise<PtyHostClient> {
    const client = await connectPtyHost({
      paths: this.paths,
      bundle: async () => DIST,
      node: () => findNode(systemProcesses, process.env),
      environment: process.env,
      client: 'test',
      ...options,
    });
    this.#pids.add(client.host.pid);
    this.#clients.push(client);
    return client;
  }

  /** A connected socket that says nothing yet. */
  socket(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.paths.ptyhostSocket);
      this.#sockets.add(socket);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.removeListener('error', reject);
        socket.on('error', () => socket.destroy());
        resolve(socket);
      });
    });
  }

  async attach(
    client: PtyHostClient,
    id: string,
    options: Partial<AttachmentOptions> = {},
  ): Promise<Attachment> {
    const { ticket } = await client.request('ticket', { id });
    return await Attachment.open(await this.socket(), ticket, { client: 'test', ...options });
  }

  async end(): Promise<void> {
    for (const client of this.#clients) {
      if (client.lost) continue;
      const { terminals } = await client.request('list', {}).catch(() => ({ terminals: [] }));
      for (const { pid, exited } of terminals) if (exited === undefined) kill(-pid);
      client.close();
    }
    for (const socket of this.#sockets) socket.destroy();
    for (const pid of this.#pids) kill(pid);
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** Parameters of a terminal that runs `script` in `sh`. */
export function shell(script: string, more: Partial<CreateParams> = {}): CreateParams {
  return {
    id: randomUUID(),
    argv: ['/bin/sh', '-c', script],
    cwd: tmpdir(),
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LANG: 'C.UTF-8' },
    cols: 80,
    rows: 24,
    ...more,
  };
}

/** Collects what an attachment delivers, as text, and the end. */
export class Watched {
  readonly attachment: Attachment;
  /** All live output. */
  text = '';
  readonly #decoder = new StringDecoder('utf8');
  snapshots: { part: string; reason: string; position: number; text: string }[] = [];
  exit: Exit | undefined;
  lost = false;

  constructor(attachment: Attachment) {
    this.attachment = attachment;
    attachment.on('snapshot', ({ part, reason, position, bytes }) => {
      this.snapshots.push({ part, reason, position, text: bytes.toString('utf8') });
    });
    attachment.on('data', (bytes) => {
      this.text += this.#decoder.write(bytes);
    });
    attachment.on('exit', (exit) => {
      this.exit = exit;
    });
    attachment.on('lost', () => {
      this.lost = true;
    });
  }
}

/** A terminal emulator behind an attachment, as an editor has one. */
export class Emulator {
  readonly terminal: Terminal;
  #written: Promise<void> = Promise.resolve();
  exit: Exit | undefined;

  constructor(attachment: Attachment, rowsKept: number) {
    const { cols, rows } = attachment.terminal;
    this.terminal = new xterm.Terminal({
      cols,
      rows,
      scrollback: rowsKept,
      allowProposedApi: true,
      logLevel: 'off',
    });
    attachment.on('snapshot', (snapshot) =>
      this.#then(async () => {
        this.terminal.reset();
        this.terminal.resize(snapshot.cols, snapshot.rows);
        await this.#write(snapshot.bytes);
      }),
    );
    attachment.on('data', (bytes, position) =>
      this.#then(async () => {
        await this.#write(bytes);
        attachment.processed(position + bytes.length);
      }),
    );
    attachment.on('resize', (size) =>
      this.#then(async () => {
        this.terminal.resize(size.cols, size.rows);
      }),
    );
    attachment.on('exit', (exit) => {
      this.exit = exit;
    });
  }

  /** Resolves when everything that was delivered is parsed. */
  async settled(): Promise<void> {
    await this.#written;
  }

  #then(run: () => Promise<void>): void {
    this.#written = this.#written.then(run);
  }

  #write(bytes: Buffer): Promise<void> {
    const copy = Uint8Array.from(bytes);
    return new Promise((resolve) => this.terminal.write(copy, resolve));
  }
}

/** Every event of a client from here on. */
export function eventsOf(client: PtyHostClient): HostEvent[] {
  const events: HostEvent[] = [];
  client.on('event', (event) => events.push(event));
  return events;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}
