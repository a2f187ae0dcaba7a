import { connect, type Socket } from 'node:net';
import type * as vscode from 'vscode';
import { ResponseError } from 'vscode-jsonrpc/node';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  ProgressType,
  RevealOutputChannelOn,
  type StreamInfo,
  type WorkDoneProgressBegin,
  type WorkDoneProgressEnd,
  type WorkDoneProgressReport,
} from 'vscode-languageclient/node';
import { Attachment, type AttachmentOptions } from '../../sidecar/protocol/attachment.ts';
import { FairleadError, isErrorCode, WIRE_ERROR_NUMBER } from '../../sidecar/protocol/errors.ts';
import { isLostConnection } from '../../sidecar/protocol/lost-connection.ts';
import { ANSWER_WITHIN_MS, afterSilence, notAnswering } from '../../sidecar/protocol/not-answering.ts';
import * as protocol from '../../sidecar/protocol/protocol.ts';
import * as z from '../../sidecar/protocol/zod.ts';
import { ExtensionError, isSuddenEnd, SUDDEN_END } from './failure.ts';
import type { NewsOf, NotificationName, ParamsOf, RequestName, ResultOf } from './wire.ts';

/**
 * The connection to the sidecar, over the language client: the part of the extension that takes long to load, in a
 * bundle of its own.
 */
export interface ClientOptions {
  /** Connected; ends with the client. */
  socket: Socket;
  output: vscode.LogOutputChannel;
  info: Omit<protocol.ClientInfo, 'protocol' | 'environment' | 'answersQuestions'>;
  environment: Readonly<Record<string, string>>;
  /** A connection that was there ended by itself; `onPurpose` when somebody has ended the sidecar. Called once. */
  onLost(onPurpose: boolean): void;
  /** A question of git or ssh to the person; undefined when they decline, or nobody waits for the answer any more. */
  ask(question: string, secret: boolean, givenUp: vscode.CancellationToken): Promise<string | undefined>;
}

export interface RequestOptions {
  token?: vscode.CancellationToken | undefined;
  /** What the sidecar says of the way to the result: percent from 0 to 100 where it knows. */
  onProgress?: ((message: string, percent: number | undefined) => void) | undefined;
}

/** How often a sidecar that is waited for is asked whether it is alive, in milliseconds. */
const PING_MS = 2_000;

const WireErrorData = z.looseObject({
  code: z.string(),
  hint: z.optional(z.string()),
  data: z.optional(z.unknown()),
});
type WorkDone = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;
const workDone = new ProgressType<WorkDone>();

/** What goes wrong is told by whoever asked; the library would show it in words of its own. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** One connection to one sidecar: made once, and not again. */
export class SidecarClient {
  readonly #client: LanguageClient;
  readonly #socket: Socket;
  /** Rejects when the connection has ended. */
  readonly #lost: Promise<never>;
  #info: protocol.SidecarInfo | undefined;
  #stopped = false;
  #endsOnPurpose = false;

  constructor(options: ClientOptions) {
    const { socket } = options;
    this.#socket = socket;
    const lost = Promise.withResolvers<never>();
    this.#lost = lost.promise;
    this.#lost.catch(() => {});
    // What was read before is taken first.
    socket.once('close', () =>
      setTimeout(() => {
        if (!this.#stopped && this.#info !== undefined) options.onLost(this.#endsOnPurpose);
        lost.reject(ended(!this.#endsOnPurpose));
      }),
    );
    const streams = { reader: socket, writer: socket, detached: true } satisfies StreamInfo;
    this.#client = new QuietClient('fairlead', 'Fairlead Sidecar', async () => streams, {
      documentSelector: [],
      outputChannel: options.output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: {
        ...options.info,
        protocol: protocol.PROTOCOL_VERSIONS,
        environment: options.environment,
        answersQuestions: true,
      },
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
      },
    });
    this.#client.onNotification(protocol.SidecarEnding.method, () => {
      this.#endsOnPurpose = true;
    });
    this.#client.onRequest(
      protocol.AskPerson.method,
      async (params: unknown, givenUp: vscode.CancellationToken) => {
        const { question, secret } = protocol.AskPerson.params.parse(params);
        return { answer: (await options.ask(question, secret, givenUp)) ?? null };
      },
    );
  }

  /** @throws ExtensionError `client.too-old`, `client.too-new`, `daemon.lost`, `daemon.not-answering` */
  async start(): Promise<protocol.SidecarInfo> {
    const silence = Promise.withResolvers<never>();
    const answered = afterSilence(ANSWER_WITHIN_MS, () => silence.reject(notAnswering('sidecar', undefined)));
    try {
      await Promise.race([this.#client.start(), silence.promise, this.#lost]);
      const { fairlead } = protocol.Initialize.result.parse(this.#client.initializeResult);
      const refusal = refusalOf(fairlead);
      if (refusal !== undefined) throw refusal;
      this.#info = fairlead;
      return fairlead;
    } catch (error) {
      void this.stop();
      this.#socket.destroy();
      throw fromWire(error, !this.#endsOnPurpose);
    } finally {
      answered();
    }
  }

  /** Says goodbye. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#client.stop(2_000).catch(() => {});
    this.#socket.destroy();
  }

  /**
   * @throws ExtensionError as the sidecar answers; `daemon.lost` when it ends first (see `isSuddenEnd`);
   * `daemon.not-answering`; `cancelled`
   */
  async request<Name extends RequestName>(
    name: Name,
    params: ParamsOf<Name>,
    options: RequestOptions = {},
  ): Promise<ResultOf<Name>> {
    // biome-ignore lint/performance/noDynamicNamespaceImportAccess: every constant of the protocol is wanted.
    const kind = protocol[name] as protocol.RequestKind<z.ZodMiniType, z.ZodMiniType>;
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
    const silence = this.#watchForSilence();
    try {
      // The library takes an absent token for one that is null.
      const answer =
        token === undefined
          ? this.#client.sendRequest(kind.method, all)
          : this.#client.sendRequest(kind.method, all, token);
      return kind.result.parse(await Promise.race([answer, this.#lost, silence.found])) as ResultOf<Name>;
    } catch (error) {
      const failure = fromWire(error, !this.#endsOnPurpose);
      if (isSuddenEnd(failure)) {
        // Whoever asks again asks the next one: this one is known to be gone by then.
        this.#socket.destroy();
        await this.#lost.catch(() => {});
      }
      throw failure;
    } finally {
      silence.end();
      listening?.dispose();
    }
  }

  /** `found` rejects once the sidecar has not answered for a while; nothing else settles it. */
  #watchForSilence(): { found: Promise<never>; end(): void } {
    const { promise: found, reject } = Promise.withResolvers<never>();
    found.catch(() => {});
    let isOver = false;
    let cancel: () => void = () => {};
    const wait = () => {
      const timer = setTimeout(look, PING_MS);
      cancel = () => clearTimeout(timer);
    };
    const look = () => {
      cancel = afterSilence(ANSWER_WITHIN_MS, () => reject(notAnswering('sidecar', this.#info?.pid)));
      const answered = () => {
        cancel();
        if (!isOver) wait();
      };
      this.#client.sendRequest(protocol.Ping.method, {}).then(answered, answered);
    };
    wait();
    return {
      found,
      end: () => {
        isOver = true;
        cancel();
      },
    };
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
    const kind = protocol[name] as protocol.NotificationKind<z.ZodMiniType>;
    return this.#client.onNotification(kind.method, (params: unknown) => {
      const parsed = kind.params.safeParse(params);
      if (parsed.success) listener(parsed.data as NewsOf<Name>);
    });
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

function ended(isSudden: boolean): ExtensionError {
  return new ExtensionError('daemon.lost', 'The sidecar ended while this ran.', {
    hint: 'Try again; nothing that was decided is lost.',
    data: isSudden ? SUDDEN_END : undefined,
  });
}

/** `isSudden`: nobody has ended the sidecar, should it have ended. */
function fromWire(error: unknown, isSudden: boolean): Error {
  if (error instanceof ExtensionError || error instanceof FairleadError) return error;
  if (isLostConnection(error)) return ended(isSudden);
  if (!(error instanceof ResponseError)) {
    const message = error instanceof Error ? error.message : String(error);
    // The language client's own words; it has no code for them.
    return /disposed|connection got|is not running/i.test(message)
      ? ended(isSudden)
      : new ExtensionError('internal', message);
  }
  if (error.code === -32800) return new ExtensionError('cancelled', 'Cancelled.');
  const wire = error.code === WIRE_ERROR_NUMBER ? WireErrorData.safeParse(error.data) : undefined;
  if (wire?.success !== true) return new ExtensionError('internal', error.message);
  const { code, hint, data } = wire.data;
  return new ExtensionError(isErrorCode(code) ? code : 'internal', error.message, { hint, data });
}
