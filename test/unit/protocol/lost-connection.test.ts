import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  createMessageConnection,
  ErrorCodes,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import { ScratchFolder } from '../../../sidecar/platform/scratch-folder.ts';
import { isLostConnection } from '../../../sidecar/protocol/lost-connection.ts';

/** A client of a server whose half of the socket is given with it. */
async function pair(path: string) {
  const server = createServer().listen(path);
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const socket = connect(path);
  socket.on('error', () => {});
  const [theirs] = await accepted;
  server.close();
  const client = createMessageConnection(new StreamMessageReader(socket), new StreamMessageWriter(socket));
  client.onError(() => {});
  client.listen();
  return { client, theirs };
}

const answerOf = (request: Promise<unknown>) =>
  request.then(
    () => 'answered',
    (error: unknown) => error,
  );

it('a request that could not be written is lost, and so is one on a closed connection', async () => {
  using folder = new ScratchFolder();
  const { client, theirs } = await pair(join(folder.path, 'a.sock'));
  const over = new Promise<void>((resolve) => client.onClose(resolve));
  theirs.destroy();
  await once(theirs, 'close');
  const unwritten = await answerOf(client.sendRequest('look'));
  expect(unwritten).toMatchObject({ code: ErrorCodes.MessageWriteError });
  expect(isLostConnection(unwritten)).toBe(true);
  await over;
  const closed = await answerOf(Promise.resolve().then(() => client.sendRequest('look')));
  expect(closed).toMatchObject({ message: expect.stringContaining('closed') });
  expect(isLostConnection(closed)).toBe(true);
});

it('an unanswered request is lost when its connection is given up', async () => {
  using folder = new ScratchFolder();
  const { client } = await pair(join(folder.path, 'b.sock'));
  const pending = answerOf(client.sendRequest('look'));
  client.dispose();
  expect(isLostConnection(await pending)).toBe(true);
});

it('a refusal is an answer', async () => {
  using folder = new ScratchFolder();
  const { client, theirs } = await pair(join(folder.path, 'c.sock'));
  const server = createMessageConnection(new StreamMessageReader(theirs), new StreamMessageWriter(theirs));
  server.listen();
  const refusal = await answerOf(client.sendRequest('look'));
  expect(refusal).toMatchObject({ code: -32601 });
  expect(isLostConnection(refusal)).toBe(false);
  client.end();
});
