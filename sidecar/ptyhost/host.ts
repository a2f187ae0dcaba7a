import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '../platform/clock.ts';
import type { Ids } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import { PrivateSocket } from '../platform/private-socket.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import { FrameSocket } from '../protocol/frame-socket.ts';
import {
  AttachSchema,
  commonVersion,
  type Frame,
  FrameType,
  HelloSchema,
  type HostEvent,
  type HostHello,
  parseJson,
  type TerminalInfo,
  WIRE_VERSIONS,
} from '../protocol/ptywire.ts';
import { ByteConnection } from './byte-connection.ts';
import { type Commands, ControlConnection } from './control-connection.ts';
import type { LoadedPty } from './native-pty.ts';
import { ParseScheduler } from './parse-scheduler.ts';
import { removeOldScrollback, ScrollbackFile } from './scrollback-file.ts';
import { Terminal } from './terminal.ts';
import { Tickets } from './tickets.ts';

export interface HostOptions {
  socket: string;
  scrollback: string;
  /** Milliseconds with no terminal alive and no client after which the host ends. */
  idleMs: number;
  version: string;
  build: string;
}

export interface HostDependencies {
  pty: LoadedPty;
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** How long programs have to end after SIGHUP before SIGKILL when the host itself ends, in milliseconds. */
const HANGUP_GRACE_MS = 2_000;

/** How long a client may take to say hello, in milliseconds. */
const HELLO_MS = 10_000;

/** Every terminal of one home, and the socket to reach them. */
export class PtyHost {
  readonly #options: HostOptions;
  readonly #deps: HostDependencies;
  readonly #onEnd: () => void;
  readonly #terminals = new Map<string, Terminal>();
  readonly #connections = new Set<FrameSocket>();
  readonly #subscribers = new Set<ControlConnection>();
  readonly #scheduler = new ParseScheduler();
  readonly #tickets: Tickets;
  readonly #socket: PrivateSocket;
  readonly #hello: Omit<HostHello, 'version'>;
  #idle: (() => void) | undefined;
  #ending = false;

  /** `onEnd` is called once, after everything has been let go. */
  constructor(options: HostOptions, deps: HostDependencies, onEnd: () => void) {
    this.#options = options;
    this.#deps = deps;
    this.#onEnd = onEnd;
    this.#tickets = new Tickets(deps.clock, deps.ids);
    this.#socket = new PrivateSocket(options.socket, (socket) => this.#accept(socket), deps.clock, deps.log);
    this.#hello = {
      versions: [...WIRE_VERSIONS],
      host: options.version,
      build: options.build,
      pid: process.pid,
      startedAt: deps.clock.now(),
      instance: deps.ids.uuid(),
    };
  }

  /** Listens. The caller holds the lock that makes this the only host: a socket file that is there is a dead one. */
  async start(): Promise<void> {
    removeOldScrollback(this.#options.scrollback);
    await this.#socket.open();
    this.#considerIdle();
  }

  /** Ends in order: SIGHUP to every program, SIGKILL to those that stay; the socket goes. */
  async end(reason: 'idle' | 'asked'): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    this.#deps.log.info('ptyhost.end', { reason, terminals: this.#terminals.size });
    this.#idle?.();
    this.#emit({ event: 'shutdown', reason });
    const alive = [...this.#terminals.values()].filter((terminal) => terminal.alive);
    for (const terminal of alive) terminal.kill('SIGHUP', HANGUP_GRACE_MS);
    const deadline = this.#deps.clock.monotonic() + HANGUP_GRACE_MS * 2;
    while (alive.some((terminal) => terminal.alive) && this.#deps.clock.monotonic() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    for (const terminal of alive) terminal.endKill();
    this.#socket.close();
    for (const connection of this.#connections) connection.end();
    for (const terminal of this.#terminals.values()) terminal.dispose();
    this.#onEnd();
  }

  // ── Socket ─────────────────────────────────────────────────────────────────

  #accept(connection: Socket): void {
    const socket = new FrameSocket(connection);
    this.#connections.add(socket);
    this.#considerIdle();
    const late = this.#deps.clock.after(HELLO_MS, () => socket.destroy());
    const onClose = () => {
      late();
      this.#connections.delete(socket);
      this.#considerIdle();
    };
    connection.on('close', onClose);
    let greeted = false;
    socket.listen(
      (frame) => {
        if (!greeted) {
          greeted = this.#greet(socket, frame);
          return;
        }
        late();
        this.#take(socket, frame);
      },
      () => {},
    );
  }

  /** False when the two do not understand each other; the connection then ends. */
  #greet(socket: FrameSocket, frame: Frame): boolean {
    if (frame.type !== FrameType.hello) {
      throw new FairleadError('ptyhost.protocol', 'The first frame must be a hello.');
    }
    const hello = parseJson(HelloSchema, frame.payload);
    const version = commonVersion(WIRE_VERSIONS, hello.versions);
    if (version === undefined) {
      const newer = Math.min(...hello.versions) > Math.max(...WIRE_VERSIONS);
      throw new FairleadError(
        newer ? 'client.too-new' : 'client.too-old',
        `This ptyhost speaks wire version ${WIRE_VERSIONS.join(', ')}, ${hello.client} speaks ${hello.versions.join(', ')}.`,
        { hint: 'Stop all sessions and run `fairlead up` to start a ptyhost of the same version.' },
      );
    }
    socket.sendJson(FrameType.hello, { version, ...this.#hello } satisfies HostHello);
    return true;
  }

  /** The frame after the hello decides what kind of connection it is. */
  #take(socket: FrameSocket, frame: Frame): void {
    if (frame.type !== FrameType.attach) {
      const connection = new ControlConnection(
        socket,
        this.#commands,
        (subscriber) => {
          this.#subscribers.add(subscriber);
          return { terminals: this.#infos() };
        },
        (leaving) => this.#subscribers.delete(leaving),
      );
      connection.receive(frame);
      return;
    }
    const params = parseJson(AttachSchema, frame.payload);
    const id = this.#tickets.redeem(params.ticket);
    const terminal = id === undefined ? undefined : this.#terminals.get(id);
    if (terminal === undefined) {
      throw new FairleadError(
        'terminal.ticket-refused',
        'The ticket is spent, too old, or its terminal is gone.',
        {
          hint: 'Ask for another and attach again.',
        },
      );
    }
    new ByteConnection(socket, terminal, params, this.#deps.clock);
  }

  // ── Requests ───────────────────────────────────────────────────────────────

  readonly #commands: Commands = {
    create: (params) => {
      const present = this.#terminals.get(params.id);
      if (present !== undefined) return { terminal: present.info(), created: false };
      if (this.#ending) throw new FairleadError('ptyhost.lost', 'The ptyhost is ending.');
      const folder = join(this.#options.scrollback, params.id);
      const { clock, log, pty } = this.#deps;
      const terminal = new Terminal(params, {
        clock,
        log,
        pty,
        scheduler: this.#scheduler,
        scrollback: new ScrollbackFile(folder, log, () => clock.monotonic()),
        emit: (event) => {
          this.#emit(event);
          if (event.event === 'exit') this.#considerIdle();
        },
      });
      this.#terminals.set(params.id, terminal);
      log.info('terminal.create', {
        id: params.id,
        pid: terminal.info().pid,
        cwd: params.cwd,
        program: params.argv[0],
      });
      this.#considerIdle();
      return { terminal: terminal.info(), created: true };
    },
    list: () => ({ terminals: this.#infos() }),
    write: ({ id, data }) => {
      this.#terminal(id).write(Buffer.from(data, 'utf8'));
      return {};
    },
    resize: ({ id, cols, rows }) => {
      this.#terminal(id).resize({ cols, rows });
      return {};
    },
    kill: ({ id, signal, graceMs }) => {
      this.#terminal(id).kill(signal, graceMs);
      return {};
    },
    forget: ({ id }) => {
      const terminal = this.#terminals.get(id);
      if (terminal === undefined) return {};
      if (terminal.alive) {
        throw new FairleadError('terminal.running', `The program of terminal ${id} still runs.`, {
          hint: 'Stop it first.',
        });
      }
      this.#terminals.delete(id);
      terminal.dispose();
      this.#considerIdle();
      return {};
    },
    screen: (params) => this.#terminal(params.id).screen(params),
    scrollback: async ({ id, before, bytes }) => {
      const { start, data } = await this.#terminal(id).scrollback(before, bytes);
      return { start, data: data.toString('base64') };
    },
    ticket: ({ id, ttlMs }) => this.#tickets.issue(this.#terminal(id).id, ttlMs),
    shutdown: ({ force }) => {
      const ending = force || ![...this.#terminals.values()].some((terminal) => terminal.alive);
      // After the answer is on its way.
      if (ending) setImmediate(() => void this.end('asked'));
      return { ending };
    },
  };

  #terminal(id: string): Terminal {
    const terminal = this.#terminals.get(id);
    if (terminal !== undefined) return terminal;
    throw new FairleadError('terminal.gone', `There is no terminal ${id}.`, {
      hint: 'Start the session again.',
    });
  }

  #infos(): TerminalInfo[] {
    return [...this.#terminals.values()].map((terminal) => terminal.info());
  }

  #emit(event: HostEvent): void {
    for (const subscriber of this.#subscribers) subscriber.event(event);
  }

  #considerIdle(): void {
    this.#idle?.();
    this.#idle = undefined;
    if (this.#ending || this.#connections.size > 0) return;
    for (const terminal of this.#terminals.values()) if (terminal.alive) return;
    this.#idle = this.#deps.clock.after(this.#options.idleMs, () => {
      this.end('idle').catch((error) => this.#deps.log.error('ptyhost.end', { error: messageOf(error) }));
    });
  }
}
