import type { Socket } from 'node:net';
import {
  type CancellationToken,
  CancellationTokenSource,
  createMessageConnection,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import { BUILD, isOlderBuild } from '../platform/build.ts';
import { sleep } from '../platform/clock.ts';
import { connectOrStart, type DaemonProcess, tryConnect } from '../platform/daemon-process.ts';
import { cleanEnvironment } from '../platform/environment.ts';
import { lockHolder } from '../platform/lock-holder.ts';
import { pathsFor, preparePaths, requireSocketPath } from '../platform/paths.ts';
import { FairleadError } from '../protocol/errors.ts';
import { ANSWER_WITHIN_MS, afterSilence, notAnswering } from '../protocol/not-answering.ts';
import {
  AskPerson,
  Initialize,
  type NotificationKind,
  Ping,
  PROTOCOL_VERSIONS,
  type RequestKind,
  type SidecarInfo,
  StopSidecar,
} from '../protocol/protocol.ts';
import type * as z from '../protocol/zod.ts';
import { answerQuestion } from './person.ts';
import { isInteractive } from './question.ts';
import { sidecarProcess } from './sidecar-process.ts';
import { fromWire, suddenEnd } from './wire-failure.ts';

export interface ConnectionRequest {
  environment: Readonly<Record<string, string | undefined>>;
}

/** How often a sidecar that ends while it is greeted is followed by another attempt. */
const GREETINGS = 5;
/** How often a sidecar that is waited for is asked whether it is alive, in milliseconds. */
const PING_MS = 2_000;

/** A connection of this command to the sidecar. */
export class SidecarConnection {
  readonly info: SidecarInfo;
  readonly #socket: Socket;
  readonly #connection: MessageConnection;
  readonly #ended: Promise<void>;

  private constructor(socket: Socket, connection: MessageConnection, info: SidecarInfo) {
    this.#socket = socket;
    this.#connection = connection;
    this.info = info;
    this.#ended = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  /**
   * Connects to the sidecar of this home. With `start` one is started when there is none, and an older one that is
   * idle is replaced. With `anyVersion` one that this program can only end is taken, too.
   * @throws FairleadError `daemon.not-running` (without `start`), `daemon.not-answering`, `daemon.spawn-failed`, `daemon.lost`,
   * `node.missing`, `home.read-only`, `home.socket-path-too-long`, `store.newer`, `store.damaged`, `disk.full`,
   * `client.too-old`, `client.too-new`
   */
  static async open(
    request: ConnectionRequest,
    options: { start: boolean; anyVersion?: boolean },
  ): Promise<SidecarConnection> {
    const paths = pathsFor(request.environment);
    requireSocketPath(paths);
    if (!options.start) {
      const socket = await tryConnect(paths.sidecarSocket);
      if (socket === undefined) {
        throw new FairleadError('daemon.not-running', 'The sidecar does not run.', {
          hint: 'Start it: fairlead up',
        });
      }
      return SidecarConnection.#greet(socket, request, paths.sidecarLock, options.anyVersion);
    }
    preparePaths(paths);
    const daemon = sidecarProcess(paths, request.environment);
    const connection = await SidecarConnection.#startAndGreet(daemon, request, paths.sidecarLock);
    if (!isOlderBuild(connection.info)) return connection;
    // Replaced only when idle: whoever works with the older one is not to notice.
    const { stopped } = await connection.request(StopSidecar, { terminals: false, onlyIfIdle: true });
    if (!stopped) return connection;
    await connection.ended();
    return SidecarConnection.#startAndGreet(daemon, request, paths.sidecarLock);
  }

  /** One that was just ending when it was met is followed by the next. */
  static async #startAndGreet(
    daemon: DaemonProcess,
    request: ConnectionRequest,
    lock: string,
  ): Promise<SidecarConnection> {
    for (let attempt = 1; ; attempt += 1) {
      const { socket } = await connectOrStart(daemon);
      try {
        return await SidecarConnection.#greet(socket, request, lock);
      } catch (error) {
        const lost = error instanceof FairleadError && error.code === 'daemon.lost';
        if (!lost || attempt === GREETINGS) throw error;
        await sleep(50 * attempt);
      }
    }
  }

  static async #greet(
    socket: Socket,
    request: ConnectionRequest,
    lock: string,
    anyVersion = false,
  ): Promise<SidecarConnection> {
    const connection = createMessageConnection(
      new StreamMessageReader(socket),
      new StreamMessageWriter(socket),
    );
    socket.on('error', () => {});
    connection.onError(() => {});
    connection.onUnhandledNotification(() => {});
    connection.onRequest(AskPerson.method, (params: unknown, cancelled: CancellationToken) => {
      const givenUp = new AbortController();
      cancelled.onCancellationRequested(() => givenUp.abort());
      return answerQuestion(AskPerson.params.parse(params), givenUp.signal);
    });
    connection.listen();
    // A connection that ends does not settle what was asked over it.
    const lost = new Promise<never>((_resolve, reject) => {
      socket.once('close', () => reject(suddenEnd()));
    });
    lost.catch(() => {});
    const silence = Promise.withResolvers<never>();
    const answered = afterSilence(ANSWER_WITHIN_MS, () =>
      silence.reject(notAnswering('sidecar', lockHolder(lock))),
    );
    try {
      const greeting = connection.sendRequest(Initialize.method, {
        initializationOptions: {
          protocol: PROTOCOL_VERSIONS,
          name: 'fairlead',
          version: BUILD.version,
          build: BUILD.id,
          environment: cleanEnvironment(request.environment),
          answersQuestions: isInteractive(),
        },
      });
      const { fairlead } = Initialize.result.parse(await Promise.race([greeting, lost, silence.promise]));
      if (!anyVersion) requireCommonVersion(fairlead);
      return new SidecarConnection(socket, connection, fairlead);
    } catch (error) {
      socket.destroy();
      throw fromWire(error);
    } finally {
      answered();
    }
  }

  /**
   * Waits for as long as it takes, and looks now and then whether the sidecar is alive.
   * @throws FairleadError as the sidecar answers; `daemon.lost` when it ends first; `daemon.not-answering`; `cancelled`
   */
  async request<P extends z.ZodMiniType, R extends z.ZodMiniType>(
    kind: RequestKind<P, R>,
    params: z.input<P>,
    signal?: AbortSignal,
  ): Promise<z.output<R>> {
    if (signal?.aborted) throw new FairleadError('cancelled', 'Cancelled.');
    const cancel = new CancellationTokenSource();
    const onAbort = () => cancel.cancel();
    signal?.addEventListener('abort', onAbort, { once: true });
    const silence = this.#watchForSilence();
    try {
      const pending = this.#connection.sendRequest(kind.method, params, cancel.token);
      const lost = this.#ended.then((): never => {
        throw suddenEnd(kind.method);
      });
      lost.catch(() => {});
      return kind.result.parse(await Promise.race([pending, lost, silence.found]));
    } catch (error) {
      throw fromWire(error, kind.method);
    } finally {
      silence.end();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** `found` rejects once the sidecar has not answered for a while; nothing else settles it. */
  #watchForSilence(): { found: Promise<never>; end(): void } {
    const { promise: found, reject } = Promise.withResolvers<never>();
    found.catch(() => {});
    let cancel: () => void = () => {};
    let over = false;
    const ask = () => {
      cancel = afterSilence(ANSWER_WITHIN_MS, () => reject(notAnswering('sidecar', this.info.pid)));
      const answered = () => {
        cancel();
        if (over) return;
        const timer = setTimeout(ask, PING_MS);
        cancel = () => clearTimeout(timer);
      };
      // One that is older does not know the question, and that is an answer, too.
      this.#connection.sendRequest(Ping.method, {}).then(answered, answered);
    };
    const timer = setTimeout(ask, PING_MS);
    cancel = () => clearTimeout(timer);
    return {
      found,
      end: () => {
        over = true;
        cancel();
      },
    };
  }

  onNotification<P extends z.ZodMiniType>(
    kind: NotificationKind<P>,
    listener: (params: z.output<P>) => void,
  ): void {
    this.#connection.onNotification(kind.method, (params: unknown) => {
      const parsed = kind.params.safeParse(params);
      if (parsed.success) listener(parsed.data);
    });
  }

  /** Resolves when the connection has ended, whoever ended it. @throws FairleadError `cancelled` when given up before */
  async ended(signal?: AbortSignal): Promise<void> {
    if (signal === undefined) return this.#ended;
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(new FairleadError('cancelled', 'Cancelled.'));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await Promise.race([this.#ended, promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  close(): void {
    this.#socket.end();
    this.#socket.unref();
  }
}

function requireCommonVersion(info: SidecarInfo): void {
  if (info.protocol.newest < PROTOCOL_VERSIONS.oldest) {
    throw new FairleadError(
      'client.too-new',
      `The sidecar that runs is older (${info.version}) than this program can talk to.`,
      {
        hint: 'Let its agents finish, then: fairlead down && fairlead up',
      },
    );
  }
  if (info.protocol.oldest > PROTOCOL_VERSIONS.newest) {
    throw new FairleadError(
      'client.too-old',
      `The sidecar that runs is newer (${info.version}) than this program.`,
      {
        hint: 'Update Fairlead.',
      },
    );
  }
}
