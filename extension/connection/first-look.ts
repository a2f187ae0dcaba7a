import { connect, type Socket } from 'node:net';
import type { Session } from '../../sidecar/protocol/session.ts';

/** How long a sidecar that accepts the connection may take to answer, in milliseconds; the client asks again anyway. */
const ANSWER_WITHIN_MS = 2_000;

export interface FirstLookOptions {
  /** Of this extension. */
  build: string;
  version: string;
}

/**
 * The sessions of a sidecar that runs, with two messages over a socket of its own: rows are drawn before the client
 * library is loaded, which takes several times as long. Only a sidecar of this very build is believed, since nothing
 * here checks what it says: its types are those that this was compiled with. Undefined when there is no such sidecar.
 */
export function firstLook(
  path: string,
  { build, version }: FirstLookOptions,
): Promise<Session[] | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (sessions?: Session[]) => {
      socket.destroy();
      resolve(sessions);
    };
    socket.setTimeout(ANSWER_WITHIN_MS, () => end());
    socket.on('error', () => end());
    socket.on('close', () => end());
    const initializationOptions = {
      // Two of one build need not agree on a version.
      protocol: { oldest: 0, newest: 0 },
      name: 'vscode-first-look',
      version,
      build,
      environment: {},
      answersQuestions: false,
    };
    send(socket, 1, 'initialize', { initializationOptions });
    send(socket, 2, 'session/list', {});
    onMessages(socket, ({ id, result }) => {
      if (id === 1 && !isOfBuild(result, build)) end();
      if (id === 2) end(Array.isArray(result) ? (result as Session[]) : undefined);
    });
  });
}

function send(socket: Socket, id: number, method: string, params: object): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
  socket.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

/** Messages framed as in the Language Server Protocol. What is none ends the reading. */
function onMessages(socket: Socket, listener: (message: { id?: unknown; result?: unknown }) => void): void {
  let unread: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
    for (;;) {
      const headerEnd = unread.indexOf('\r\n\r\n');
      if (headerEnd < 0) return;
      const length = /Content-Length: (\d+)/i.exec(unread.toString('latin1', 0, headerEnd));
      if (length === null) return void socket.destroy();
      const bodyEnd = headerEnd + 4 + Number(length[1]);
      if (unread.length < bodyEnd) return;
      const body = unread.toString('utf8', headerEnd + 4, bodyEnd);
      unread = unread.subarray(bodyEnd);
      const message: unknown = parseJson(body);
      if (typeof message !== 'object' || message === null) return void socket.destroy();
      listener(message);
    }
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isOfBuild(result: unknown, build: string): boolean {
  const info: unknown =
    typeof result === 'object' && result !== null ? Reflect.get(result, 'fairlead') : null;
  return typeof info === 'object' && info !== null && Reflect.get(info, 'build') === build;
}
