import { hostname } from 'node:os';
import * as vscode from 'vscode';
import type { Attachment, AttachmentOptions } from '../../sidecar/protocol/attachment.ts';
import type { Pane, SidecarInfo } from '../../sidecar/protocol/protocol.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { ExtensionError, failureOf } from '../failure.ts';
import { askText } from '../messages.ts';
import type { RequestOptions, SidecarClient } from './client.ts';
import { firstLook } from './first-look.ts';
import { SidecarProgram } from './program.ts';
import type { Failure, NewsOf, NotificationName, ParamsOf, RequestName, ResultOf } from './wire.ts';

export type ConnectionState =
  | { kind: 'off' }
  | { kind: 'connecting' }
  | { kind: 'ready'; info: SidecarInfo }
  | { kind: 'lost' }
  | { kind: 'failed'; failure: Failure };

type Listeners = { [Name in NotificationName]?: Set<(news: NewsOf<Name>) => void> };

/** How long what was seen at a first look has to be drawn before the client library takes the thread, in milliseconds. */
const DRAWN_WITHIN_MS = 100;

/** How long an ending sidecar is waited for, in milliseconds: what it has under way ends first. */
const ENDS_WITHIN_MS = 30_000;
/** Between two looks for a sidecar that somebody else has started, in milliseconds. */
const LOOK_AGAIN_MS = 5_000;

/** Variables of the editor that no agent may inherit are taken out by the sidecar as well; here they would only travel. */
const EDITOR = /^(VSCODE_|ELECTRON_|NODE_OPTIONS$)/;

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
  readonly #glimpsed = new vscode.EventEmitter<readonly Session[]>();
  /** The sessions of a sidecar that runs, before there is a connection that could be asked for them. */
  readonly onDidGlimpse = this.#glimpsed.event;
  readonly #listeners: Listeners = {};
  #state: ConnectionState = { kind: 'off' };
  #client: SidecarClient | undefined;
  #starting: Promise<SidecarClient> | undefined;
  #ready = Promise.withResolvers<void>();
  #isReady = false;
  #watching: NodeJS.Timeout | undefined;
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
      nodePath: () => vscode.workspace.getConfiguration('fairlead').get<string>('nodePath', '').trim(),
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
   * @throws ExtensionError as it answers; why it could not be started
   */
  async request<Name extends RequestName>(
    name: Name,
    params: ParamsOf<Name>,
    options: RequestOptions = {},
  ): Promise<ResultOf<Name>> {
    const client = await this.start();
    await this.#ready.promise;
    return client.request(name, params, options);
  }

  /** See `SidecarClient.attach`. */
  async attach(session: string, pane: Pane, options: AttachmentOptions): Promise<Attachment> {
    const client = await this.start();
    await this.#ready.promise;
    return client.attach(session, pane, options);
  }

  /** Survives every reconnection. */
  on<Name extends NotificationName>(name: Name, listener: (news: NewsOf<Name>) => void): vscode.Disposable {
    const known: Set<(news: NewsOf<Name>) => void> = this.#listeners[name] ?? new Set();
    // The type of the map ties the name to its listeners; a mapped type cannot be written through a generic key.
    (this.#listeners as Record<string, typeof known>)[name] = known;
    known.add(listener);
    return new vscode.Disposable(() => known.delete(listener));
  }

  /**
   * To be called once, when the window is there: looks at what a running sidecar has, then connects. Whoever asks for
   * something meanwhile is not kept waiting. A sidecar that does not run is started when `isWanted`; else with the first
   * request.
   */
  async open(isWanted: () => Promise<boolean>): Promise<void> {
    const socket = this.#program.remembered;
    const sessions =
      socket === undefined
        ? undefined
        : await firstLook(socket, { build: this.#build, version: this.#version });
    if (sessions !== undefined && !this.#disposed) {
      this.#glimpsed.fire(sessions);
      await new Promise((resolve) => setTimeout(resolve, DRAWN_WITHIN_MS));
    } else if (!(await isWanted())) {
      return;
    }
    await this.start();
  }

  /** Connects when that has not been done; after a failure, again. */
  start(): Promise<SidecarClient> {
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined;
      this.#fail(error);
      throw error;
    });
    return this.#starting;
  }

  /**
   * Ends the sidecar, which leaves its agents running, and starts the one of this extension. What it has under way it
   * ends first; `token` gives up waiting for that, and takes nothing back.
   */
  async restart(token?: vscode.CancellationToken): Promise<void> {
    const work = this.#restart();
    if (token === undefined) return work;
    const { promise: givenUp, resolve } = Promise.withResolvers<void>();
    const listening = token.onCancellationRequested(() => resolve());
    // A failure after that shows in the status bar, as that of any other connection.
    work.catch(() => {});
    await Promise.race([work, givenUp]);
    listening.dispose();
  }

  async #restart(): Promise<void> {
    const before = this.#state.kind === 'ready' ? this.#state.info.pid : undefined;
    await this.request('StopSidecar', { terminals: false }).catch((error: unknown) => {
      // Ending is what was asked for: a connection that went first is no failure.
      if (failureOf(error).code !== 'daemon.lost') this.#output.warn(failureOf(error).message);
    });
    await this.#drop();
    // It answers before it takes no more connections: one that it takes then is lost in the midst of the greeting.
    if (before !== undefined) await ended(before);
    await this.start();
  }

  async #start(): Promise<SidecarClient> {
    if (this.#disposed) throw new ExtensionError('cancelled', 'The window is closing.');
    this.#setState({ kind: 'connecting' });
    const { SidecarClient } = await import('./client.ts');
    const client = new SidecarClient({
      connect: () => this.#program.connect(),
      output: this.#output,
      info: { name: 'vscode', version: this.#version, build: this.#build },
      environment: environmentOf(process.env),
      onReady: (info) => this.#onReady(info),
      onLost: () => this.#onLost(),
      onFailed: (error) => this.#onFailed(error),
      ask,
    });
    this.#client = client;
    this.#listenTo(client);
    await client.start();
    return client;
  }

  #listenTo(client: SidecarClient): void {
    const pass = <Name extends NotificationName>(name: Name) =>
      client.on(name, (news) => {
        for (const listener of this.#listeners[name] ?? []) listener(news);
      });
    pass('SessionChanged');
    pass('EntryChanged');
    pass('EventHappened');
  }

  #onReady(info: SidecarInfo): void {
    this.#output.info(`Connected to the sidecar ${info.version} (${info.build}), pid ${info.pid}.`);
    this.#isReady = true;
    this.#ready.resolve();
    this.#setState({ kind: 'ready', info });
    if (info.build !== this.#build && !this.#replaceTried) {
      this.#replaceTried = true;
      // `fairlead up` knows which of two builds is to give way, and that a busy one is left alone.
      this.#program.start().then(
        (socket) => socket.destroy(),
        (error: unknown) => this.#output.warn(failureOf(error).message),
      );
    }
  }

  #onLost(): void {
    this.#wait();
    if (!this.#disposed) this.#setState({ kind: 'lost' });
  }

  #onFailed(error: unknown): void {
    this.#client = undefined;
    this.#starting = undefined;
    // Who waits for the connection is not kept waiting for ever.
    this.#ready.promise.catch(() => {});
    this.#ready.reject(error);
    this.#ready = Promise.withResolvers();
    if (!this.#disposed) this.#fail(error);
  }

  /** Requests wait for the next connection. */
  #wait(): void {
    if (!this.#isReady) return;
    this.#isReady = false;
    this.#ready = Promise.withResolvers();
  }

  /** Nothing is started any more unless somebody asks; a sidecar that another window or a command starts is joined. */
  #fail(error: unknown): void {
    this.#setState({ kind: 'failed', failure: failureOf(error) });
    clearTimeout(this.#watching);
    this.#watching = setTimeout(() => void this.#joinAnother(error), LOOK_AGAIN_MS);
  }

  async #joinAnother(error: unknown): Promise<void> {
    const isThere = await this.#program.isRunning();
    if (this.#disposed || this.#state.kind !== 'failed') return;
    // A failure is shown by the state.
    if (isThere) return void this.start().catch(() => {});
    this.#fail(error);
  }

  async #drop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#starting = undefined;
    this.#wait();
    await client?.stop();
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
    await this.#drop();
  }

  dispose(): void {
    this.#disposed = true;
    clearTimeout(this.#watching);
    this.#stateChanged.dispose();
    this.#glimpsed.dispose();
  }
}

/** Resolves when the process has ended, or has taken too long. */
async function ended(pid: number): Promise<void> {
  const deadline = Date.now() + ENDS_WITHIN_MS;
  while (isAlive(pid) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // What may not be signalled lives.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function environmentOf(environment: NodeJS.ProcessEnv): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && !EDITOR.test(name)) kept[name] = value;
  }
  return kept;
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
