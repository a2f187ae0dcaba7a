import type { Socket } from 'node:net';
import { hostname } from 'node:os';
import * as vscode from 'vscode';
import type { Attachment, AttachmentOptions } from '../../sidecar/protocol/attachment.ts';
import type { Pane, SidecarInfo } from '../../sidecar/protocol/protocol.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { askText } from '../window/messages.ts';
import { setting } from '../window/setting.ts';
import { unlessCancelled } from './cancellation.ts';
import type { RequestOptions, SidecarClient } from './client.ts';
import { ExtensionError, type Failure, failureOf, isSuddenEnd } from './failure.ts';
import { firstLook } from './first-look.ts';
import { NotificationListeners } from './notification-listeners.ts';
import { personEnvironment } from './person-environment.ts';
import { SidecarProgram } from './program.ts';
import { endSidecar } from './silent-sidecar.ts';
import type { NewsOf, NotificationName, ParamsOf, RequestName, ResultOf } from './wire.ts';

export type ConnectionState =
  | { kind: 'off' }
  | { kind: 'connecting' }
  | { kind: 'ready'; info: SidecarInfo }
  | { kind: 'lost' }
  /** Somebody has ended the sidecar: it is started again only when it is asked for something. */
  | { kind: 'ended' }
  | { kind: 'failed'; failure: Failure };

/**
 * How long what was seen at a first look has to be drawn before the client library takes the thread, in milliseconds: a
 * view that is not open never asks for it.
 */
const DRAWN_WITHIN_MS = 500;

/** Waits before the connection is made again after it was lost, in milliseconds; the last one is repeated. */
const BACK_OFF_MS = [50, 200, 1_000, 3_000, 10_000] as const;
/** A connection that lasted so long is one that works: the next loss starts with the shortest wait. */
const STEADY_MS = 30_000;
/** How often a sidecar that ends while it is greeted is followed by another attempt. */
const GREETINGS = 4;
/** How often what is to be done once is asked of another sidecar, after one has died over it. */
const SIDECARS = 4;

/** Between two looks for a sidecar that somebody else has started, in milliseconds. */
const LOOK_AGAIN_MS = { failed: 5_000, ended: 1_000 } as const;

/**
 * The window's connection to the sidecar. Made on first need and again when it is lost; requests wait for it. Who
 * listens hears of every new connection as of a change of state.
 */
export class Connection implements vscode.Disposable {
  readonly #program: SidecarProgram;
  readonly #output: vscode.LogOutputChannel;
  readonly #version: string;
  readonly #build: string;
  readonly #stateChanged = new vscode.EventEmitter<ConnectionState>();
  readonly onDidChangeState = this.#stateChanged.event;
  readonly #opened = Promise.withResolvers<void>();
  readonly #prefetched = new vscode.EventEmitter<readonly Session[]>();
  /** The sessions of a sidecar that runs, before there is a connection that could be asked for them. */
  readonly onDidPrefetch = this.#prefetched.event;
  readonly #listeners = new NotificationListeners();
  #state: ConnectionState = { kind: 'off' };
  /** The connection that is there. */
  #client: SidecarClient | undefined;
  /** The same, or the one that is being made. */
  #current: Promise<SidecarClient> | undefined;
  /** Counts beginnings: what an older one comes to is nobody's. */
  #beginning = 0;
  #losses = 0;
  #readyAt = 0;
  #watching: NodeJS.Timeout | undefined;
  /** The sidecar that was given up: it is met again only when somebody asks. */
  #givenUp: number | undefined;
  #replaceTried = false;
  #disposed = false;

  constructor(context: vscode.ExtensionContext, output: vscode.LogOutputChannel) {
    this.#output = output;
    this.#version = String(context.extension.packageJSON.version);
    this.#build = BUILD_ID;
    // Sockets are those of one home on one machine; a profile that roams must not name another's.
    const key = `socket:${hostname()}:${process.env.FAIRLEAD_HOME ?? ''}`;
    this.#program = new SidecarProgram({
      bundles: context.asAbsolutePath('dist'),
      nodePath: () => setting('nodePath'),
      environment: process.env,
      remembered: () => context.globalState.get<string>(key),
      remember: (socket) => void context.globalState.update(key, socket),
      log: (line) => output.info(line),
    });
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /**
   * Asks the sidecar, which is started when it does not run.
   * @throws ExtensionError as it answers; why it could not be started; `daemon.not-answering`; `cancelled`
   */
  async request<Name extends RequestName>(
    name: Name,
    params: ParamsOf<Name>,
    options: RequestOptions = {},
  ): Promise<ResultOf<Name>> {
    const client = await unlessCancelled(this.start(), options.token);
    return client.request(name, params, options);
  }

  /** As {@link request} of a sidecar that is connected; else undefined. For what nobody waits for. */
  async requestIfConnected<Name extends RequestName>(
    name: Name,
    params: ParamsOf<Name>,
  ): Promise<ResultOf<Name> | undefined> {
    return this.#client?.request(name, params);
  }

  /**
   * As {@link request} of what is carried out once, though sidecars die while they carry it out: each next one is asked
   * again under the same id. One that was ended on purpose is not followed by another.
   */
  async requestOnce<Name extends 'NewSession' | 'SendPrompt'>(
    name: Name,
    params: ParamsOf<Name>,
    options: RequestOptions = {},
  ): Promise<ResultOf<Name>> {
    const named = { ...params, requestId: crypto.randomUUID() };
    for (let attempt = 1; ; attempt += 1) {
      const client = await unlessCancelled(this.start(), options.token);
      // One of another build may not know of ids, and would carry it out a second time.
      const isOurs = this.#state.kind === 'ready' && this.#state.info.build === this.#build;
      try {
        return await client.request(name, named, options);
      } catch (error) {
        const isGivenUp = options.token?.isCancellationRequested === true || attempt === SIDECARS;
        if (!isSuddenEnd(error) || !isOurs || isGivenUp) throw error;
      }
    }
  }

  /** See `SidecarProgram.logFile`. */
  logFile(): Promise<string> {
    return this.#program.logFile();
  }

  /** See `SidecarClient.attach`. */
  async attach(session: string, pane: Pane, options: AttachmentOptions): Promise<Attachment> {
    const client = await this.start();
    return client.attach(session, pane, options);
  }

  /** Survives every reconnection. */
  on<Name extends NotificationName>(name: Name, listener: (news: NewsOf<Name>) => void): vscode.Disposable {
    return this.#listeners.on(name, listener);
  }

  /**
   * To be called once, when the window is there: looks at what a running sidecar has, lets that be `drawn`, then connects.
   * Whoever asks for something meanwhile is not kept waiting. A sidecar that does not run is started when `isWanted`; else
   * with the first request.
   */
  async open(isWanted: () => Promise<boolean>, drawn: () => Promise<void>): Promise<void> {
    try {
      const socket = this.#program.remembered;
      const sessions =
        socket === undefined
          ? undefined
          : await firstLook(socket, { build: this.#build, version: this.#version });
      if (sessions !== undefined && !this.#disposed) {
        this.#prefetched.fire(sessions);
        const patience = new Promise((resolve) => setTimeout(resolve, DRAWN_WITHIN_MS));
        await Promise.race([drawn(), patience]);
      } else if (!(await isWanted())) {
        return;
      }
    } finally {
      this.#opened.resolve();
    }
    await this.start();
  }

  /** Resolves when what is to be seen first has been looked at and drawn. */
  get whenOpened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Connects when that has not been done; after a failure, again. */
  start(): Promise<SidecarClient> {
    if (this.#current !== undefined) return this.#current;
    this.#setState({ kind: 'connecting' });
    return this.#begin();
  }

  /**
   * Ends the sidecar, which leaves its agents running, and starts the one of this extension; resolves when that is there.
   * What it has under way it ends first, and nothing takes that back. One that does not answer, or is of another protocol,
   * is ended all the same.
   */
  async restart(): Promise<void> {
    const before = this.#client;
    this.#client = undefined;
    this.#setState({ kind: 'connecting' });
    await this.#begin(async () => {
      await before?.stop();
      // Over a connection of the program's own.
      await endSidecar(() => this.#program.end());
    });
  }

  /**
   * What the window lives on cannot be had over this connection: it is left, and told of as one that could not be made. One
   * that was lost meanwhile is followed by the next; another sidecar in its place is joined.
   */
  giveUp(error: unknown): void {
    const client = this.#client;
    if (client === undefined || failureOf(error).code === 'daemon.lost') return;
    this.#client = undefined;
    this.#current = undefined;
    this.#beginning += 1;
    this.#givenUp = this.#state.kind === 'ready' ? this.#state.info.pid : undefined;
    void client.stop();
    this.#setState({ kind: 'failed', failure: failureOf(error) });
    this.#watch();
  }

  /** Makes the connection, once `before` is done. A failure is told by the state, unless `isQuiet`. */
  #begin(
    before?: () => Promise<void>,
    { isQuiet, mayStart }: { isQuiet: boolean; mayStart: boolean } = { isQuiet: false, mayStart: true },
  ): Promise<SidecarClient> {
    this.#beginning += 1;
    const beginning = this.#beginning;
    clearTimeout(this.#watching);
    const make = async () => {
      await before?.();
      return this.#connect(beginning, mayStart);
    };
    const current = make().catch((error: unknown) => {
      if (beginning === this.#beginning) {
        this.#current = undefined;
        if (!this.#disposed) {
          if (!isQuiet) this.#setState({ kind: 'failed', failure: failureOf(error) });
          this.#watch();
        }
      }
      throw error;
    });
    this.#current = current;
    // Whoever waits for it hears of it.
    current.catch(() => {});
    return current;
  }

  /** One that was just ending when it was met is followed by the next. */
  async #connect(beginning: number, mayStart: boolean): Promise<SidecarClient> {
    for (const wait of [...BACK_OFF_MS.slice(0, GREETINGS), undefined]) {
      if (this.#disposed) throw new ExtensionError('cancelled', 'The window is closing.');
      try {
        const { client, info } = await this.#greet(mayStart);
        if (beginning !== this.#beginning || this.#disposed) {
          await client.stop();
          return this.start();
        }
        this.#onReady(client, info);
        return client;
      } catch (error) {
        if (failureOf(error).code !== 'daemon.lost' || wait === undefined) throw error;
        await pause(wait);
      }
    }
    throw new ExtensionError('daemon.lost', 'The sidecar ends whenever it is met.');
  }

  /** A connection; an older sidecar that is idle is replaced before. */
  async #greet(mayStart: boolean): Promise<{ client: SidecarClient; info: SidecarInfo }> {
    const first = await this.#clientOf(await this.#program.connect(mayStart));
    const info = await first.start();
    if (!mayStart && info.pid === this.#givenUp) {
      await first.stop();
      throw new ExtensionError('daemon.not-running', 'No other sidecar runs than the one that was given up.');
    }
    if (info.build === this.#build || this.#replaceTried || !mayStart) return { client: first, info };
    this.#replaceTried = true;
    // `fairlead up` knows which of two builds is to give way, and that a busy one is left alone: one with a client is.
    await first.stop();
    const socket = await this.#program.start().catch((error: unknown) => {
      this.#output.warn(failureOf(error).message);
      return undefined;
    });
    const client = await this.#clientOf(socket ?? (await this.#program.connect(mayStart)));
    return { client, info: await client.start() };
  }

  async #clientOf(socket: Socket): Promise<SidecarClient> {
    const { SidecarClient } = await import('./client.ts');
    const client: SidecarClient = new SidecarClient({
      socket,
      output: this.#output,
      info: { name: 'vscode', version: this.#version, build: this.#build },
      environment: personEnvironment(process.env),
      onLost: (onPurpose) => this.#onLost(client, onPurpose),
      ask,
    });
    this.#listeners.listenTo(client);
    return client;
  }

  #onReady(client: SidecarClient, info: SidecarInfo): void {
    this.#output.info(`Connected to the sidecar ${info.version} (${info.build}), pid ${info.pid}.`);
    this.#client = client;
    this.#givenUp = undefined;
    this.#readyAt = Date.now();
    this.#setState({ kind: 'ready', info });
  }

  #onLost(client: SidecarClient, onPurpose: boolean): void {
    if (client !== this.#client || this.#disposed) return;
    this.#client = undefined;
    if (onPurpose) {
      this.#current = undefined;
      this.#setState({ kind: 'ended' });
      this.#watch();
      return;
    }
    this.#setState({ kind: 'lost' });
    if (Date.now() - this.#readyAt > STEADY_MS) this.#losses = 0;
    const wait = BACK_OFF_MS[Math.min(this.#losses, BACK_OFF_MS.length - 1)] ?? 0;
    this.#losses += 1;
    void this.#begin(() => pause(wait));
  }

  /** Nothing is started any more unless somebody asks; a sidecar that another window or a command starts is joined. */
  #watch(): void {
    const { kind } = this.#state;
    if (kind !== 'failed' && kind !== 'ended') return;
    clearTimeout(this.#watching);
    this.#watching = setTimeout(() => void this.#joinAnother(), LOOK_AGAIN_MS[kind]);
  }

  async #joinAnother(): Promise<void> {
    const isThere = await this.#program.isRunning();
    if (this.#disposed || this.#current !== undefined) return;
    if (isThere) void this.#begin(undefined, { isQuiet: true, mayStart: false });
    else this.#watch();
  }

  #setState(state: ConnectionState): void {
    this.#state = state;
    this.#stateChanged.fire(state);
  }

  /** Says goodbye; the sidecar and every agent go on. */
  async close(): Promise<void> {
    this.#disposed = true;
    clearTimeout(this.#watching);
    this.#program.dispose();
    await this.#client?.stop();
  }

  dispose(): void {
    this.#disposed = true;
    clearTimeout(this.#watching);
    this.#stateChanged.dispose();
    this.#prefetched.dispose();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function ask(
  question: string,
  secret: boolean,
  givenUp: vscode.CancellationToken,
): Promise<string | undefined> {
  return askText({ title: 'Fairlead', prompt: question, password: secret, ignoreFocusOut: true }, givenUp);
}

declare const __FAIRLEAD_BUILD__: string;
const BUILD_ID = __FAIRLEAD_BUILD__;
