import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SocketServer } from '../../../sidecar/daemon/server.ts';
import type { Clock } from '../../../sidecar/platform/clock.ts';
import { silentLog } from '../../../sidecar/platform/log.ts';

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

async function serving(clock: Clock) {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-server-'));
  const path = join(folder, 'socket');
  writeFileSync(path, 'in the way');
  const server = new SocketServer(
    new Map(),
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
