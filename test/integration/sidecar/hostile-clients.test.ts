import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Initialize, Status } from '../../../sidecar/protocol/protocol.ts';
import { connectTo, TestClient } from '../../support/client.ts';
import { SidecarHarness } from '../../support/sidecar.ts';

const TIMEOUT = 60_000;

/** Bytes of resident memory. */
function memoryOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096;
}

const INTRODUCTION = {
  initializationOptions: {
    protocol: { oldest: 1, newest: 1 },
    name: 'deaf',
    version: '0',
    build: '0',
    environment: {},
  },
};

function frame(body: string): string {
  return `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Resolves when the sidecar has let go of the connection; fails when it has not in ten seconds. */
async function dropped(socket: Socket, options: { reads: boolean } = { reads: true }): Promise<void> {
  if (options.reads) socket.resume();
  for (let waited = 0; waited < 10_000 && !socket.destroyed; waited += 10) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(socket.destroyed).toBe(true);
}

describe('a sidecar is not hurt by a client that', { timeout: TIMEOUT }, () => {
  let fairlead: SidecarHarness;
  let pid: number;
  let witness: TestClient;
  beforeAll(async () => {
    fairlead = new SidecarHarness({ PATH: process.env.PATH ?? '', HOME: '/nonexistent' });
    pid = await fairlead.sidecarPid();
    witness = await TestClient.connect(fairlead.home);
  });
  afterAll(async () => {
    witness[Symbol.dispose]();
    await fairlead[Symbol.asyncDispose]();
  });
  /** A client that was there before notices nothing, and the next one is served. */
  async function isWell(): Promise<void> {
    expect((await witness.request(Status, {})).sidecar.pid).toBe(pid);
    using next = await TestClient.connect(fairlead.home);
    expect(next.info.pid).toBe(pid);
  }

  it.each([
    ['talks another protocol', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['never ends its header', 'x'.repeat(100_000)],
    ['announces a message of a terabyte', 'Content-Length: 1099511627776\r\n\r\n{'],
    ['announces no length', 'Content-Type: application/json\r\n\r\n{}'],
    ['sends what is no JSON', frame('this is not JSON')],
    ['sends bytes at random', Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7919) % 251))],
  ])('%s: it is let go', async (_what, bytes) => {
    const socket = await connectTo(fairlead.home);
    socket.write(bytes);
    await dropped(socket);
    await isWell();
  });

  it.each([
    ['sends JSON that is no message', ['42', 'null', '[]', '"x"', '{}', '{"jsonrpc":"2.0"}', '[[[]]]']],
    ['sends very deep JSON', [`${'['.repeat(200_000)}${']'.repeat(200_000)}`]],
    ['answers what it was not asked', ['{"jsonrpc":"2.0","id":77,"result":{}}']],
    ['cancels what it did not ask for', ['{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":9}}']],
    ['tells what nobody knows', ['{"jsonrpc":"2.0","method":"no/such","params":{"a":1}}']],
  ])('%s', async (_what, bodies) => {
    const socket = await connectTo(fairlead.home);
    for (const body of bodies) socket.write(frame(body));
    await isWell();
    socket.destroy();
    await isWell();
  });

  it('leaves in the middle of a message', async () => {
    for (let round = 0; round < 20; round += 1) {
      const socket = await connectTo(fairlead.home);
      socket.write(
        frame('{"jsonrpc":"2.0","id":1,"method":"sidecar/status","params":{}}').slice(0, 20 + round),
      );
      socket.destroy();
    }
    await isWell();
  });

  it('asks before it has said who it is, or says it wrongly: it is told so', async () => {
    const socket = await connectTo(fairlead.home);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.write(frame('{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}'));
    socket.write(frame('{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"nonsense":true}}'));
    socket.write(frame('{"jsonrpc":"2.0","id":3,"method":"no/such","params":{}}'));
    while (!text.includes('"id":3')) await once(socket, 'data', { signal: AbortSignal.timeout(10_000) });
    expect(text).toContain('The client did not initialize.');
    expect(text.match(/params\.invalid/g)).toHaveLength(2);
    expect(text).toContain('-32601');
    socket.destroy();
    await isWell();
  });

  it.each([
    ['asks without end and never reads an answer', 50],
    ['floods', 5_000],
  ])('%s: it is let go, and memory stays where it was', async (_what, atOnce) => {
    const before = memoryOf(pid);
    const socket = await connectTo(fairlead.home);
    socket.pause();
    socket.write(
      frame(JSON.stringify({ jsonrpc: '2.0', id: 'i', method: Initialize.method, params: INTRODUCTION })),
    );
    for (let id = 0; id < 300_000 && !socket.destroyed; id += atOnce) {
      const requests = Array.from({ length: atOnce }, (_, at) =>
        frame(`{"jsonrpc":"2.0","id":${id + at},"method":"sidecar/status","params":{}}`),
      );
      if (!socket.write(requests.join(''))) await new Promise((resolve) => setTimeout(resolve, 5));
      else await new Promise((resolve) => setImmediate(resolve));
    }
    // What it still has to say cannot be said any more.
    await dropped(socket, { reads: false });
    await isWell();
    expect(memoryOf(pid) - before).toBeLessThan(150 * 1024 * 1024);
  });
});
