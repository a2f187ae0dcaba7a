import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PersonLink } from '../../../sidecar/daemon/person-link.ts';
import { SocketServer } from '../../../sidecar/daemon/server.ts';
import { systemClock } from '../../../sidecar/platform/clock.ts';
import { systemIds } from '../../../sidecar/platform/ids.ts';
import { silentLog } from '../../../sidecar/platform/log.ts';
import { pathsFor } from '../../../sidecar/platform/paths.ts';
import { TestClient } from '../../support/client.ts';
import { TestClock } from '../../support/test-clock.ts';

const MINUTE = 60_000;

/** A link whose clients are connected to a real socket. */
async function linked() {
  const home = mkdtempSync(join(tmpdir(), 'fairlead-person-'));
  mkdirSync(join(home, 'run'));
  const clock = new TestClock();
  const info = {
    protocol: { oldest: 1, newest: 1 },
    version: '1',
    build: 'b',
    sourcesAt: 0,
    pid: 1,
    home,
  };
  const server = new SocketServer(
    new Map(),
    { info: () => info, introduced() {}, changed() {} },
    systemClock,
    silentLog,
  );
  await server.listen(join(home, 'run', 'sidecar.sock'));
  const paths = pathsFor({ FAIRLEAD_HOME: home });
  const parts = { clock, ids: systemIds, log: silentLog };
  const link = new PersonLink(paths, ['fairlead'], parts, () => server.clients);
  onTestFinished(async () => {
    await server.close();
    rmSync(home, { recursive: true, force: true });
  });
  const connect = async (answers: (question: string) => string | null | Promise<string | null>) => {
    const client = await TestClient.connect(home, { answers });
    onTestFinished(() => client[Symbol.dispose]());
    return client;
  };
  /** Asks as the git of `deadline` would. */
  const ask = (deadline: { env: Readonly<Record<string, string>> }, asker = new AbortController()) =>
    link.ask('Password for origin:', deadline.env.FAIRLEAD_ASKPASS_TOKEN ?? '', asker.signal);
  return { clock, server, link, connect, ask };
}

/** A client at which nobody sits, and how often it was asked. */
async function forgotten(connect: Awaited<ReturnType<typeof linked>>['connect']) {
  let asked = 0;
  await connect(() => {
    asked += 1;
    return new Promise(() => {});
  });
  return { asked: () => asked };
}

describe('a question of git', () => {
  it('that nobody answers is given up after two minutes, and the limit of its git goes on', async () => {
    const { clock, link, connect, ask } = await linked();
    const client = await forgotten(connect);
    const deadline = link.deadline(MINUTE);
    const other = link.deadline(MINUTE);
    const answer = ask(deadline);
    await expect.poll(client.asked).toBe(1);
    clock.pass(MINUTE);
    expect([deadline.signal.aborted, other.signal.aborted]).toEqual([false, true]);
    clock.pass(MINUTE);
    expect(await answer).toBeNull();
    clock.pass(MINUTE);
    expect(deadline.signal.aborted).toBe(true);
  });

  it('is put no more to a client that left one unanswered, until it is heard of', async () => {
    const { clock, server, link, connect, ask } = await linked();
    let isThere = false;
    const person = await connect(() => (isThere ? 'secret' : null));
    const client = await forgotten(connect);
    const first = ask(link.deadline(MINUTE));
    await expect.poll(client.asked).toBe(1);
    clock.pass(2 * MINUTE);
    expect(await first).toBeNull();
    expect(await ask(link.deadline(MINUTE))).toBeNull();
    isThere = true;
    expect(await ask(link.deadline(MINUTE))).toBeNull();
    const [heard] = server.clients;
    if (heard === undefined) throw new Error('no client');
    link.heard(heard);
    expect(await ask(link.deadline(MINUTE))).toBe('secret');
    expect(client.asked()).toBe(1);
    expect(person.socket.destroyed).toBe(false);
  });

  it('ends with whoever asks it, and with the work that it is asked for', async () => {
    const { link, connect, ask } = await linked();
    const client = await forgotten(connect);
    const asker = new AbortController();
    const ofAsker = ask(link.deadline(MINUTE), asker);
    await expect.poll(client.asked).toBe(1);
    asker.abort();
    expect(await ofAsker).toBeNull();
    const work = new AbortController();
    const ofWork = ask(link.deadline(MINUTE, work.signal));
    await expect.poll(client.asked).toBe(2);
    work.abort();
    expect(await ofWork).toBeNull();
  });

  it('is asked for no git that has ended', async () => {
    const { link, connect, ask } = await linked();
    await connect(() => 'secret');
    const deadline = link.deadline(MINUTE);
    expect(await ask(deadline)).toBe('secret');
    deadline.end();
    expect(await ask(deadline)).toBeNull();
  });
});
