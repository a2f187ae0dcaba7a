import { connect, type Socket } from 'node:net';
import type * as vscode from 'vscode';
import { ResponseError } from 'vscode-jsonrpc/node';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  ProgressType,
  RevealOutputChannelOn,
  State,
  type StreamInfo,
  type WorkDoneProgressBegin,
  type WorkDoneProgressEnd,
  type WorkDoneProgressReport,
} from 'vscode-languageclient/node';
import * as z from 'zod';
import { Attachment, type AttachmentOptions } from '../../sidecar/protocol/attachment.ts';
import { isErrorCode, WIRE_ERROR_NUMBER } from '../../sidecar/protocol/errors.ts';
import { isLostConnection } from '../../sidecar/protocol/lost-connection.ts';
import * as protocol from '../../sidecar/protocol/protocol.ts';
import { ExtensionError } from '../failure.ts';
import type { NewsOf, NotificationName, ParamsOf, RequestName, ResultOf } from './wire.ts';

/**
 * The connection to the sidecar, over the language client: the part of the extension that takes long to load, in a
 * bundle of its own.
 */
export interface ClientOptions {
  /** Opens a socket, starting the sidecar when there is none. Called again at each restart. */
  connect(): Promise<Socket>;
  output: vscode.LogOutputChannel;
  info: Omit<protocol.ClientInfo, 'protocol' | 'environment' | 'answersQuestions'>;
  environment: Readonly<Record<string, string>>;
  /** The connection is there (again): whatever was known is to be asked anew. */
  onReady(info: protocol.SidecarInfo): void;
  /** It went away, and is being made again. */
  onLost(): void;
  /** It could not be made again; nothing tries any more. */
  onFailed(error: unknown): void;
  /** A question of git or ssh to the person; undefined when they decline, or nobody waits for the answer any more. */
  ask(question: string, secret: boolean, givenUp: vscode.CancellationToken): Promise<string | undefined>;
}

export interface RequestOptions {
  token?: vscode.CancellationToken | undefined;
  /** What the sidecar says of the way to the result: percent from 0 to 100 where it knows. */
  onProgress?: ((message: string, percent: number | undefined) => void) | undefined;
}

/** Waits before the connection is made again after it was lost, in milliseconds; the last one is repeated. */
const BACK_OFF_MS = [50, 200, 1_000, 3_000, 10_000];
/** A connection that lasted so long is one that works: the next loss starts with the shortest wait. */
const STEADY_MS = 30_000;

const WireErrorData = z.looseObject({
  code: z.string(),
  hint: z.string().optional(),
  data: z.unknown().optional(),
});
type WorkDone = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;
const workDone = new ProgressType<WorkDone>();

export class SidecarClient {
  readonly #options: ClientOptions;
  readonly #client: LanguageClient;
  #socket: Socket | undefined;
  /** Opened before the library asks for it: what keeps it from being opened is not the library's to show. */
  #next: Socket | undefined;
  #losses = 0;
  #readyAt = 0;
  #stopped = false;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#client = new LanguageClient('fairlead', 'Fairlead Sidecar', () => this.#open(), {
      documentSelector: [],
      outputChannel: options.output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      // A function: the environment is that of each start.
      initializationOptions: () => ({
        ...options.info,
        protocol: protocol.PROTOCOL_VERSIONS,
        environment: options.environment,
        answersQuestions: true,
      }),
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: async () => this.#onClosed(),
      },
    });
    this.#client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) this.#onRunning();
    });
    this.#client.onRequest(
      protocol.AskPerson.method,
      async (params: unknown, givenUp: vscode.CancellationToken) => {
        const { question, secret } = protocol.AskPerson.params.parse(params);
        return { answer: (await options.ask(question, secret, givenUp)) ?? null };
      },
    );
  }

  /** @throws ExtensionError what `connect` throws; `client.too-old`, `client.too-new` */
  async start(): Promise<void> {
    this.#next = await this.#options.connect();
    await this.#client.start();
    const info = this.#info();
    const refusal = refusalOf(info);
    if (refusal === undefined) return;
    await this.stop();
    throw refusal;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#client.stop(2_000).catch(() => {});
    this.#socket?.destroy();
  }

  /** @throws ExtensionError as the sidecar answers; `daemon.lost` when it ends first; `cancelled` */
  async request<Name extends RequestName>(
    name: Name,
    params: ParamsOf<Name>,
    options: RequestOptions = {},
  ): Promise<ResultOf<Name>> {
    // biome-ignore lint/performance/noDynamicNamespaceImportAccess: every constant of the protocol is wanted.
    const kind = protocol[name] as protocol.RequestKind<z.ZodType, z.ZodType>;
    const { token, onProgress } = options;
    let listening: vscode.Disposable | undefined;
    let all: object = { ...(params as object) };
    if (onProgress !== undefined) {
      const workDoneToken = crypto.randomUUID();
      all = { ...all, workDoneToken };
      listening = this.#client.onProgress(workDone, workDoneToken, (value) => {
        if (value.kind === 'end') return;
        onProgress(value.message ?? '', value.percentage);
      });
    }
    try {
      // The library takes an absent token for one that is null.
      const answer =
        token === undefined
          ? await this.#client.sendRequest(kind.method, all)
          : await this.#client.sendRequest(kind.method, all, token);
      return kind.result.parse(answer) as ResultOf<Name>;
    } catch (error) {
      throw fromWire(error);
    } finally {
      listening?.dispose();
    }
  }

  /**
   * A byte stream to a terminal of a session, on the ptyhost's own socket.
   * @throws ExtensionError as for `Attach`; `ptyhost.lost`
   */
  async attach(session: string, pane: protocol.Pane, options: AttachmentOptions): Promise<Attachment> {
    const { socket, ticket } = await this.request('Attach', { session, pane });
    return Attachment.open(connect(socket), ticket, options);
  }

  on<Name extends NotificationName>(name: Name, listener: (news: NewsOf<Name>) => void): vscode.Disposable {
    // biome-ignore lint/performance/noDynamicNamespaceImportAccess: every constant of the protocol is wanted.
    const kind = protocol[name] as protocol.NotificationKind<z.ZodType>;
    return this.#client.onNotification(kind.method, (params: unknown) => {
      const parsed = kind.params.safeParse(params);
      if (parsed.success) listener(parsed.data as NewsOf<Name>);
    });
  }

  async #open(): Promise<StreamInfo> {
    const socket = this.#next ?? (await this.#options.connect());
    this.#next = undefined;
    this.#socket = socket;
    return { reader: socket, writer: socket, detached: true };
  }

  #onRunning(): void {
    this.#readyAt = Date.now();
    const info = this.#info();
    if (refusalOf(info) === undefined) this.#options.onReady(info);
  }

  #info(): protocol.SidecarInfo {
    return protocol.Initialize.result.parse(this.#client.initializeResult).fairlead;
  }

  async #onClosed(): Promise<{ action: CloseAction; handled: boolean }> {
    if (this.#stopped) return { action: CloseAction.DoNotRestart, handled: true };
    this.#options.onLost();
    if (Date.now() - this.#readyAt > STEADY_MS) this.#losses = 0;
    const wait = BACK_OFF_MS[Math.min(this.#losses, BACK_OFF_MS.length - 1)] ?? 0;
    this.#losses += 1;
    await new Promise((resolve) => setTimeout(resolve, wait));
    if (this.#stopped) return { action: CloseAction.DoNotRestart, handled: true };
    try {
      this.#next = await this.#options.connect();
      return { action: CloseAction.Restart, handled: true };
    } catch (error) {
      this.#options.onFailed(error);
      return { action: CloseAction.DoNotRestart, handled: true };
    }
  }
}

function refusalOf({ protocol: theirs, version }: protocol.SidecarInfo): ExtensionError | undefined {
  const ours = protocol.PROTOCOL_VERSIONS;
  if (theirs.newest < ours.oldest) {
    return new ExtensionError(
      'client.too-new',
      `The sidecar that runs is older (${version}) than this extension can talk to.`,
      { hint: 'Let its agents finish, then run "Fairlead: Restart Sidecar".' },
    );
  }
  if (theirs.oldest > ours.newest) {
    return new ExtensionError(
      'client.too-old',
      `The sidecar that runs is newer (${version}) than this extension.`,
      { hint: 'Update the Fairlead extension and reload the window.' },
    );
  }
  return undefined;
}

function ended(): ExtensionError {
  return new ExtensionError('daemon.lost', 'The sidecar ended while this ran.', {
    hint: 'Try again; nothing that was decided is lost.',
  });
}

function fromWire(error: unknown): Error {
  if (error instanceof ExtensionError) return error;
  if (isLostConnection(error)) return ended();
  if (!(error instanceof ResponseError)) {
    const message = error instanceof Error ? error.message : String(error);
    // The language client's own words; it has no code for them.
    return /disposed|connection got|is not running/i.test(message)
      ? ended()
      : new ExtensionError('internal', message);
  }
  if (error.code === -32800) return new ExtensionError('cancelled', 'Cancelled.');
  const wire = error.code === WIRE_ERROR_NUMBER ? WireErrorData.safeParse(error.data) : undefined;
  if (wire?.success !== true) return new ExtensionError('internal', error.message);
  const { code, hint, data } = wire.data;
  return new ExtensionError(isErrorCode(code) ? code : 'internal', error.message, { hint, data });
}
