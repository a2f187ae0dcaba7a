import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { QueueEntry } from '../../../sidecar/protocol/entry.ts';
import { ListQueue, StopSidecar } from '../../../sidecar/protocol/protocol.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { connectTo, TestClient } from '../../support/client.ts';
import { CommandTerminal } from '../../support/command-terminal.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';

describe('a sidecar that is to end', { timeout: 120_000 }, () => {
  let repository: TestRepository;
  let fairlead: SidecarHarness;
  let session: Session;

  beforeEach(async () => {
    repository = TestRepository.with({ 'a.txt': 'a\n' });
    repository.withRemote();
    fairlead = new SidecarHarness(repository.environment);
    const made = await fairlead.json<{ session: Session }>(['new', '--no-start', 'Work'], {
      cwd: repository.folder,
    });
    session = made.session;
    repository.at(session.worktree).commit({ 'a.txt': 'of the session\n' }, 'Work');
  });
  afterEach(async () => {
    await fairlead[Symbol.asyncDispose]();
    repository[Symbol.dispose]();
  });

  const land = (...options: string[]) =>
    fairlead.run(['land', session.id, '--to', 'remote', '--json', ...options], { cwd: repository.folder });

  it('says that it waits for a push, takes nobody in meanwhile, and has pushed when it ends', async () => {
    const begun = join(repository.root, 'begun');
    const goOn = join(repository.root, 'go-on');
    repository.hook('pre-push', `touch '${begun}'; until [ -e '${goOn}' ]; do sleep 0.1; done`);
    const landing = land();
    await expect.poll(() => existsSync(begun), { timeout: 30_000 }).toBe(true);
    const down = fairlead.run(['down']);
    const isTakenIn = () =>
      connectTo(fairlead.home).then(
        (socket) => socket.destroy().destroyed,
        () => false,
      );
    await expect.poll(isTakenIn, { timeout: 20_000 }).toBe(false);
    writeFileSync(goOn, '');
    const { code, stderr } = await down;
    expect(code).toBe(0);
    expect(stderr).toContain('Waiting for the push of "Work" to origin');
    await landing;
    await expect
      .poll(async () => (await fairlead.json<QueueEntry[]>(['queue', '--all'])).map(({ state }) => state), {
        timeout: 20_000,
      })
      .toEqual(['landed']);
  });

  it('goes on ending when whoever asked for it does not wait: Ctrl-C leaves the push to it', async () => {
    const begun = join(repository.root, 'begun');
    const goOn = join(repository.root, 'go-on');
    repository.hook('pre-push', `touch '${begun}'; until [ -e '${goOn}' ]; do sleep 0.1; done`);
    const landing = land();
    await expect.poll(() => existsSync(begun), { timeout: 30_000 }).toBe(true);
    using terminal = CommandTerminal.run(fairlead, ['down'], { cwd: repository.folder });
    await terminal.shows('Waiting for the push of "Work" to origin');
    terminal.type('\u0003');
    await terminal.shows('ends as soon as that is done');
    expect(await terminal.ended).toBe(130);
    writeFileSync(goOn, '');
    await landing;
    await expect
      .poll(async () => (await fairlead.json<QueueEntry[]>(['queue', '--all'])).map(({ state }) => state), {
        timeout: 20_000,
      })
      .toEqual(['landed']);
  });

  it('is idle when a landing only waits: the next one goes on with it', async () => {
    const remote = repository.git('remote', 'get-url', 'origin');
    renameSync(remote, `${remote}.away`);
    await land('--no-wait');
    using client = await TestClient.connect(fairlead.home);
    const entries = () => client.request(ListQueue, {});
    await expect
      .poll(async () => (await entries())[0], { timeout: 20_000 })
      .toMatchObject({ state: 'waiting' });
    const [entry] = await entries();
    const { stopped } = await client.request(StopSidecar, { terminals: false, onlyIfIdle: true });
    expect(stopped).toBe(true);
    renameSync(`${remote}.away`, remote);
    const all = await fairlead.json<QueueEntry[]>(['queue', '--all']);
    expect(all.map(({ id }) => id)).toEqual([entry?.id]);
  });
});
