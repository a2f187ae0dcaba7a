import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Handlers } from '../../../sidecar/daemon/client.ts';
import { SocketServer } from '../../../sidecar/daemon/server.ts';
import type { Clock } from '../../../sidecar/platform/clock.ts';
import { silentLog } from '../../../sidecar/platform/log.ts';
import { FairleadError } from '../../../sidecar/protocol/errors.ts';
import { EventHappened } from '../../../sidecar/protocol/protocol.ts';

/** A clock that stands until it is told to move. */
class HandClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ at: number; run: () => void }>();
  now = () => this.#now;
  monotonic = () => this.#now;
  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }
  advance(ms: number): void {
    this.#now += ms;
    for (const timer of [...this.#timers]) {
      if (timer.at > this.#now) continue;
      this.#timers.delete(timer);
      timer.run();
    }
  }
}

const frame = (body: string) => `Content-Length: ${body.length}\r\n\r\n${body}`;

const EVENT = {
  seq: 1,
  at: 1,
  kind: 'session-turn',
  session: 's',
  state: null,
  entry: null,
  message: 'turn 1 ended',
} as const;

async function serving(clock: Clock, handlers: Handlers = new Map()) {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-server-'));
  const path = join(folder, 'socket');
  writeFileSync(path, 'in the way');
  const server = new SocketServer(
    handlers,
    {
      info: () => ({
        protocol: { oldest: 1, newest: 1 },
        version: '1',
        build: 'b',
        sourcesAt: 0,
        pid: 1,
        home: folder,
      }),
      introduced: () => {},
      changed: () => {},
    },
    clock,
    silentLog,
  );
  await server.listen(path);
  return {
    server,
    path,
    async [Symbol.asyncDispose]() {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('the socket of the sidecar', () => {
  it('takes the place of whatever lies there, for this user alone', async () => {
    await using at = await serving(new HandClock());
    expect(statSync(at.path).isSocket()).toBe(true);
    expect(statSync(at.path).mode & 0o777).toBe(0o600);
  });

  it('lets go of a client that does not say who it is, and of no other', async () => {
    const clock = new HandClock();
    await using at = await serving(clock);
    const silent = connect(at.path);
    const polite = connect(at.path);
    let answer = '';
    polite.on('data', (chunk) => {
      answer += chunk;
    });
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        initializationOptions: {
          protocol: { oldest: 1, newest: 1 },
          name: 'polite',
          version: '1',
          build: 'b',
          environment: {},
        },
      },
    });
    polite.write(`Content-Length: ${body.length}\r\n\r\n${body}`);
    await until(() => answer.includes('"id":1') && at.server.clients.size === 2);
    clock.advance(9_000);
    expect(at.server.clients.size).toBe(2);
    clock.advance(2_000);
    await until(() => silent.destroyed || silent.readableEnded || at.server.clients.size === 1);
    expect([...at.server.clients].map(({ info }) => info?.name)).toEqual(['polite']);
    polite.destroy();
    silent.destroy();
  });

  it('keeps a client that takes its time to read a long answer, and lets go of one that does not read', async () => {
    const clock = new HandClock();
    const answer = 'x'.repeat(12_000_000);
    await using at = await serving(clock, new Map([['long', async () => answer]]));
    const slow = connect(at.path);
    const deaf = connect(at.path);
    for (const socket of [slow, deaf]) socket.pause();
    await until(() => at.server.clients.size === 2);
    const [first, second] = at.server.clients;
    const ask = (id: number) => frame(`{"jsonrpc":"2.0","id":${id},"method":"long","params":{}}`);
    slow.write(ask(1));
    await until(() => (first?.unsent ?? 0) > 8_000_000);
    for (const id of [1, 2]) deaf.write(ask(id));
    await until(() => second?.gone.aborted === true || (second?.unsent ?? 0) > 20_000_000);
    for (const client of [first, second]) client?.notify(EventHappened, EVENT);
    await until(() => at.server.clients.size === 1);
    expect([...at.server.clients]).toEqual([first]);
    let read = 0;
    slow.on('data', (chunk: Buffer) => {
      read += chunk.length;
    });
    slow.resume();
    await until(() => read > answer.length);
    slow.destroy();
    deaf.destroy();
  });

  it('takes nobody in and cancels requests when it begins to end, and still talks to those who are there', async () => {
    await using at = await serving(
      new HandClock(),
      new Map([
        [
          'forever',
          (_params, _client, { signal }) =>
            new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        ],
      ]),
    );
    const there = connect(at.path);
    let heard = '';
    there.on('data', (chunk) => {
      heard += chunk;
    });
    there.write(frame('{"jsonrpc":"2.0","id":1,"method":"forever","params":{}}'));
    await until(() => at.server.clients.size === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    at.server.stopListening();
    await at.server.endRequests(new FairleadError('daemon.lost', 'The sidecar is ending.'));
    there.write(frame('{"jsonrpc":"2.0","id":2,"method":"forever","params":{}}'));
    await until(() => heard.includes('"id":2'));
    expect(heard.match(/The sidecar is ending\./g)).toHaveLength(2);
    for (const client of at.server.clients) client.notify(EventHappened, EVENT);
    await until(() => heard.includes(EventHappened.method));
    const late = connect(at.path);
    await expect(once(late, 'connect')).rejects.toMatchObject({ code: 'ENOENT' });
    there.destroy();
  });

  it('closes although a client keeps its side open', async () => {
    const clock = new HandClock();
    const at = await serving(clock);
    const stubborn = connect({ path: at.path, allowHalfOpen: true });
    stubborn.on('error', () => {});
    await until(() => at.server.clients.size === 1);
    const closed = at.server.close();
    clock.advance(2_000);
    await closed;
    stubborn.destroy();
    await at[Symbol.asyncDispose]();
  });
});
