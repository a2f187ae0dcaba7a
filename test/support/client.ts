import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import {
  createMessageConnection,
  type MessageConnection,
  ProgressType,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import {
  AskPerson,
  Initialize,
  type NotificationKind,
  PROTOCOL_VERSIONS,
  Progress,
  type RequestKind,
  type SidecarInfo,
} from '../../sidecar/protocol/protocol.ts';
import type * as z from '../../sidecar/protocol/zod.ts';

export interface TestClientOptions {
  environment?: Readonly<Record<string, string>>;
  /** Answers a question of git or ssh; without it the client takes no questions. */
  answers?: (question: string, secret: boolean) => string | null | Promise<string | null>;
}

export type ProgressReport = z.output<typeof Progress.params>['value'];

/** A client as a window is one: stays connected, follows, is asked. Speaks the protocol and nothing of ours below it. */
export class TestClient implements Disposable {
  readonly info: SidecarInfo;
  readonly socket: Socket;
  readonly #connection: MessageConnection;

  private constructor(socket: Socket, connection: MessageConnection, info: SidecarInfo) {
    this.socket = socket;
    this.#connection = connection;
    this.info = info;
  }

  /** Connects to the sidecar of `home`, which runs. */
  static async connect(home: string, options: TestClientOptions = {}): Promise<TestClient> {
    const socket = await connectTo(home);
    const connection = createMessageConnection(
      new StreamMessageReader(socket),
      new StreamMessageWriter(socket),
    );
    connection.onRequest(AskPerson.method, async (params: unknown) => {
      const { question, secret } = AskPerson.params.parse(params);
      return { answer: (await options.answers?.(question, secret)) ?? null };
    });
    connection.onError(() => {});
    // Requests that are open would stay so.
    socket.once('close', () => connection.dispose());
    connection.onUnhandledNotification(() => {});
    connection.listen();
    const answer = await connection.sendRequest(Initialize.method, {
      initializationOptions: {
        protocol: PROTOCOL_VERSIONS,
        name: 'test',
        version: '0.0.0',
        build: 'test',
        environment: options.environment ?? {},
        answersQuestions: options.answers !== undefined,
      },
    });
    return new TestClient(socket, connection, Initialize.result.parse(answer).fairlead);
  }

  async request<P extends z.ZodMiniType, R extends z.ZodMiniType>(
    kind: RequestKind<P, R>,
    params: z.input<P>,
  ): Promise<z.output<R>> {
    return kind.result.parse(await this.#connection.sendRequest(kind.method, params));
  }

  /** The same, with everything that is reported for it from now until the client leaves. */
  async requestWithProgress<P extends z.ZodMiniType, R extends z.ZodMiniType>(
    kind: RequestKind<P, R>,
    params: z.input<P> & object,
  ): Promise<{ answer: z.output<R>; reports: ProgressReport[] }> {
    const token = crypto.randomUUID();
    const reports: ProgressReport[] = [];
    this.#connection.onProgress(new ProgressType<unknown>(), token, (value) => {
      reports.push(Progress.params.parse({ token, value }).value);
    });
    const answer = await this.#connection.sendRequest(kind.method, { ...params, workDoneToken: token });
    return { answer: kind.result.parse(answer), reports };
  }

  /** Hears of progress that no request of this client asked for. */
  onAnyProgress(listener: (params: unknown) => void): void {
    this.#connection.onUnhandledProgress(listener);
  }

  on<P extends z.ZodMiniType>(kind: NotificationKind<P>, listener: (params: z.output<P>) => void): void {
    this.#connection.onNotification(kind.method, (params: unknown) => listener(kind.params.parse(params)));
  }

  [Symbol.dispose](): void {
    this.#connection.dispose();
    this.socket.destroy();
  }
}

/** A bare connection to the sidecar of `home`. */
export function connectTo(home: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(join(home, 'run', 'sidecar.sock'));
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      socket.on('error', () => {});
      resolve(socket);
    });
  });
}
