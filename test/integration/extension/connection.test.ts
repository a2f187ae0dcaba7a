import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CancellationTokenSource } from 'vscode';
import type { SidecarStatus } from '../../../sidecar/protocol/protocol.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { Bundles } from '../../support/bundles.ts';
import { FakeWindow } from '../../support/fake-window.ts';
import { hostLanguageClient } from '../../support/language-client-host.ts';
import { part } from '../../support/part.ts';
import { gone, SidecarHarness } from '../../support/sidecar.ts';
import { silentOutput } from '../../support/silent-output.ts';
import { World } from '../../support/world.ts';

const window = new FakeWindow();
hostLanguageClient();

const DIST = join(import.meta.dirname, '../../../dist');
const build = /\bid:\s*"([0-9a-f]{12})"/.exec(readFileSync(join(DIST, 'fairlead.js'), 'utf8'))?.[1];
if (build === undefined) throw new Error('The bundle has no build');
vi.stubGlobal('__FAIRLEAD_BUILD__', build);
const { Connection } = await import('../../../extension/connection/connection.ts');
type Connection = InstanceType<typeof Connection>;

const PLAIN = { PATH: process.env.PATH ?? '', HOME: '/nonexistent' };

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  window.pick = () => undefined;
});

/** A connection as a window has it, over a home of its own, and every state that it went through. */
function windowOf(
  fairlead: SidecarHarness,
  options: { remembers?: string; settings?: Record<string, string>; bundles?: string } = {},
): { connection: Connection; states: string[]; until(kind: string, timeoutMs?: number): Promise<void> } {
  const before = process.env.FAIRLEAD_HOME;
  process.env.FAIRLEAD_HOME = fairlead.home;
  const kept = new Map<string, unknown>();
  const connection = new Connection(
    part({
      extension: { packageJSON: { version: '0.0.0' } },
      asAbsolutePath: () => options.bundles ?? DIST,
      globalState: {
        get: (key: string) => kept.get(key) ?? options.remembers,
        update: async (key: string, value: unknown) => void kept.set(key, value),
      },
    }),
    silentOutput(),
  );
  window.settings = options.settings ?? {};
  const states: string[] = [];
  connection.onDidChangeState(({ kind }) => states.push(kind));
  ends.push(async () => {
    await connection.close();
    connection.dispose();
    if (before === undefined) delete process.env.FAIRLEAD_HOME;
    else process.env.FAIRLEAD_HOME = before;
  });
  return {
    connection,
    states,
    until: (kind, timeoutMs = 20_000) =>
      vi.waitFor(() => expect(connection.state.kind).toBe(kind), { timeout: timeoutMs, interval: 20 }),
  };
}

/** Something that listens where the sidecar should. */
async function listen(onSocket: (socket: Socket) => void): Promise<{ path: string; server: Server }> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-socket-'));
  const path = join(folder, 'sidecar.sock');
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onSocket(socket);
  });
  await new Promise<void>((done) => server.listen(path, done));
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { path, server };
}

describe('a sidecar that ends while it is greeted', { timeout: 90_000 }, () => {
  it('is tried a few times, then said to be so, and leaves no client that connects by itself', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    let met = 0;
    const { path, server } = await listen((socket) => {
      met += 1;
      socket.once('data', () => socket.destroy());
    });
    const { connection, states } = windowOf(fairlead, { remembers: path });
    await expect(connection.start()).rejects.toMatchObject({ code: 'daemon.lost' });
    expect(connection.state).toMatchObject({ kind: 'failed', failure: { code: 'daemon.lost' } });
    const tries = met;
    expect(tries).toBeGreaterThan(1);
    // Longer than the longest wait of what would try by itself, shorter than the look for another.
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    expect(met).toBe(tries);
    expect(states).toEqual(['connecting', 'failed']);

    // With another in its place there is one client of this window, which hears everything once.
    await new Promise((done) => server.close(done));
    await connection.start();
    const { sidecar } = await fairlead.json<SidecarStatus>(['status']);
    expect(sidecar.clients).toBe(2);
  });
});

async function statusOf(fairlead: SidecarHarness): Promise<{ sidecar: { pid: number } | null }> {
  return fairlead.json(['status']);
}

describe('a sidecar that somebody has ended', { timeout: 90_000 }, () => {
  it('stays down with a window open, is joined when it is started, and starts when it is asked', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    const { connection, states, until } = windowOf(fairlead);
    await connection.start();
    await fairlead.json(['down']);
    await until('ended');
    // What nobody waits for starts nothing.
    expect(await connection.requestIfConnected('ListSessions', {})).toBeUndefined();
    // Longer than any wait after a loss that is followed by another attempt.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await statusOf(fairlead)).sidecar).toBeNull();
    expect(states).toEqual(['connecting', 'ready', 'ended']);

    const { pid } = await fairlead.json<{ pid: number }>(['up']);
    await until('ready');
    expect(connection.state).toMatchObject({ info: { pid } });

    await fairlead.json(['down']);
    await until('ended');
    expect(await connection.request('ListSessions', {})).toEqual([]);
    expect(connection.state.kind).toBe('ready');
  });

  it('by a signal is followed by another', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    const { connection, states } = windowOf(fairlead);
    await connection.start();
    const pid = await fairlead.killSidecar();
    expect(await connection.request('ListSessions', {})).toEqual([]);
    await vi.waitFor(() => expect(states).toEqual(['connecting', 'ready', 'lost', 'ready']), 10_000);
    expect(connection.state).not.toMatchObject({ info: { pid } });
  });

  it('or never ran is joined by a window that was told nothing of where it is', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    rmdirSync(fairlead.home);
    writeFileSync(fairlead.home, 'in the way');
    const { connection, until } = windowOf(fairlead);
    await expect(connection.start()).rejects.toBeDefined();
    rmSync(fairlead.home);
    mkdirSync(fairlead.home, { mode: 0o700 });
    await fairlead.json(['up']);
    await until('ready');
  });
});

describe('a sidecar of another build', { timeout: 120_000 }, () => {
  it('is replaced by that of the window, which is its only client', async () => {
    using bundles = new Bundles();
    await using fairlead = new SidecarHarness(PLAIN);
    const old = await fairlead.withBundle(bundles.of('0.0.1', OTHER)).json<{ pid: number }>(['up']);
    const { connection, states } = windowOf(fairlead);
    await connection.start();
    expect(connection.state).toMatchObject({ kind: 'ready', info: { build } });
    expect(connection.state).not.toMatchObject({ info: { pid: old.pid } });
    expect(states).toEqual(['connecting', 'ready']);
  });

  it('that is too old to talk to is said to be, also in place of another, and can be restarted', async () => {
    using bundles = new Bundles();
    await using fairlead = new SidecarHarness(PLAIN);
    const { connection, until } = windowOf(fairlead);
    await connection.start();
    await fairlead.json(['down']);
    await until('ended');
    await fairlead.withBundle(bundles.of('0.0.1', { ...OTHER, protocol: 0 })).json(['up']);
    await expect(connection.start()).rejects.toMatchObject({ code: 'client.too-new' });
    expect(connection.state).toMatchObject({ kind: 'failed', failure: { code: 'client.too-new' } });
    await connection.restart();
    expect(connection.state).toMatchObject({ kind: 'ready', info: { build } });
  });
});

describe('a sidecar that hangs', { timeout: 120_000 }, () => {
  it('is named with its pid, and can be ended and restarted', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    const { connection } = windowOf(fairlead);
    await connection.start();
    const pid = await fairlead.sidecarPid();
    process.kill(pid, 'SIGSTOP');
    await expect(connection.request('ListSessions', {})).rejects.toMatchObject({
      code: 'daemon.not-answering',
      message: `The sidecar (pid ${pid}) does not answer.`,
    });
    window.pick = () => 'End Sidecar';
    await connection.restart();
    expect(window.said).toContain(`The sidecar (pid ${pid}) does not answer. End it?`);
    expect(connection.state).toMatchObject({ kind: 'ready', info: { build } });
    expect(connection.state).not.toMatchObject({ info: { pid } });
  });

  it('while it is greeted keeps nobody: Cancel ends the waiting, and then it is said', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    const { path } = await listen(() => {});
    const { connection, until } = windowOf(fairlead, { remembers: path });
    const cancel = new CancellationTokenSource();
    const waiting = connection.request('ListSessions', {}, { token: cancel.token });
    cancel.cancel();
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
    await until('failed');
    expect(connection.state).toMatchObject({ failure: { code: 'daemon.not-answering' } });
  });
});

it('a connection over which nothing can be read is told of as one that could not be made', async () => {
  await using fairlead = new SidecarHarness(PLAIN);
  const { connection, states } = windowOf(fairlead);
  await connection.start();
  connection.giveUp(new Error('not as it should be'));
  expect(connection.state).toMatchObject({ kind: 'failed', failure: { message: 'not as it should be' } });
  expect(await connection.request('ListSessions', {})).toEqual([]);
  expect(states).toEqual(['connecting', 'ready', 'failed', 'connecting', 'ready']);
});

it('a sidecar that was given up is not met again by itself, another in its place is', {
  timeout: 90_000,
}, async () => {
  await using fairlead = new SidecarHarness(PLAIN);
  const { connection, states, until } = windowOf(fairlead);
  await connection.start();
  connection.giveUp(new Error('not as it should be'));
  // Longer than the wait between two looks.
  await new Promise((resolve) => setTimeout(resolve, 6_500));
  expect(states).toEqual(['connecting', 'ready', 'failed']);
  await fairlead.json(['down']);
  const { pid } = await fairlead.json<{ pid: number }>(['up']);
  await until('ready');
  expect(connection.state).toMatchObject({ info: { pid } });
});

it('the log of a sidecar is found without one', { timeout: 60_000 }, async () => {
  await using fairlead = new SidecarHarness(PLAIN);
  const { connection, states } = windowOf(fairlead);
  expect(await connection.logFile()).toBe(join(fairlead.home, 'logs', 'sidecar.log'));
  expect((await statusOf(fairlead)).sidecar).toBeNull();
  expect(states).toEqual([]);
});

it('what is to be done once is done once, though sidecars die over it', { timeout: 90_000 }, async () => {
  await using world = await World.open();
  const { fairlead } = world;
  const { connection } = windowOf(fairlead);
  await connection.start();
  const pid = await fairlead.sidecarPid();
  const made = connection.requestOnce('NewSession', {
    folder: world.repository.folder,
    title: 'Once',
    start: false,
  });
  // It is on its way, or begun.
  await new Promise((resolve) => setTimeout(resolve, 30));
  process.kill(pid, 'SIGKILL');
  await gone(pid);
  const { session } = await made;
  expect(connection.state).not.toMatchObject({ info: { pid } });
  const all = await world.json<Session[]>('ls');
  expect(all.map(({ id }) => id)).toEqual([session.id]);
});

it('a Node.js that is not there gives way to the next one', { timeout: 60_000 }, async () => {
  await using fairlead = new SidecarHarness(PLAIN);
  const { connection } = windowOf(fairlead, { settings: { nodePath: join(fairlead.home, 'no-node') } });
  await connection.start();
  expect(connection.state.kind).toBe('ready');
});

/** What a bundle of another build says of itself. */
const OTHER = { build: '0123456789ab' };
