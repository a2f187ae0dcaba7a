import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { demoWith, TestQueue } from '../../support/queue.ts';
import type { Files, TestRepository } from '../../support/repository.ts';

/** A repository that follows a bare one on disk, with the remote as the answer to "where to". */
function withRemote(files?: Files): { demo: TestRepository; remote: TestRepository; queue: TestQueue } {
  const demo = demoWith(files);
  const remote = demo.withRemote();
  const queue = TestQueue.open(demo, { config: { land: { to: 'remote' } } });
  return { demo, remote, queue };
}

/** Somebody else's push. @returns their commit */
function foreignPush(demo: TestRepository, files: Files, message = 'Foreign'): string {
  const name = `clone-${message.toLowerCase()}`;
  const second = demo.clone(name);
  const commit = second.commit(files, message);
  second.git('push', '--quiet', 'origin', 'HEAD:main');
  return commit;
}

describe('landing on a remote', () => {
  it('is left at once while the remote does not answer, and the end of the sidecar waits for none', async () => {
    const { demo, queue } = withRemote();
    const first = queue.session('First', { files: { a: '1\n' } });
    const second = queue.session('Second', { files: { b: '1\n' } });
    const asked = join(demo.root, 'asked');
    demo.git('remote', 'set-url', 'origin', 'ssh://nobody@localhost/nowhere');
    demo.git('config', 'core.sshCommand', `touch '${asked}'; exec sleep 1000; :`);
    await queue.land(first);
    await expect.poll(() => existsSync(asked), { timeout: 20_000 }).toBe(true);
    expect(await queue.cancel(first)).toMatchObject({ state: 'cancelled' });
    rmSync(asked);
    await queue.land(second);
    await expect.poll(() => existsSync(asked), { timeout: 20_000 }).toBe(true);
    await queue.parts.queue.stop();
    expect(queue.entry(second)).toMatchObject({ state: 'queued' });
  });

  it('is not cancelled as long as it may have landed, though the remote does not answer', async () => {
    const { demo, remote, queue } = withRemote();
    const session = queue.session('Add', { files: { a: '1\n' } });
    const url = demo.git('remote', 'get-url', 'origin').trim();
    const asked = join(demo.root, 'asked');
    queue.parts.step = (name) => {
      if (name !== 'swapped') return;
      queue.parts.step = () => {};
      throw new Error('what it came to is not known');
    };
    await queue.land(session);
    await queue.until(session, 'waiting');
    demo.git('remote', 'set-url', 'origin', 'ssh://nobody@localhost/nowhere');
    demo.git('config', 'core.sshCommand', `touch '${asked}'; exec sleep 1000; :`);
    queue.clock.pass(60_000);
    await expect.poll(() => existsSync(asked), { timeout: 20_000 }).toBe(true);
    expect((await queue.cancel(session)).state).not.toBe('cancelled');
    demo.git('remote', 'set-url', 'origin', url);
    queue.parts.queue.remove(session.id).catch(() => {});
    await queue.until(session, 'landed');
    expect(remote.tip('main')).toBe(queue.entry(session).landed);
  });

  it('pushes, reads back, and lets the local base follow with its folder', async () => {
    const { demo, remote, queue } = withRemote();
    const session = queue.session('Add', { files: { a: '1\n' } });
    const entry = await queue.landed(session);
    expect(entry).toMatchObject({ target: 'remote', remote: 'origin', message: null });
    expect(remote.tip('main')).toBe(entry.landed);
    expect([demo.tip('main'), demo.read('a'), demo.status()]).toEqual([entry.landed, '1\n', '']);
    expect(queue.leftovers()).toEqual([]);
  });

  it('pushes nothing of its own', async () => {
    const { remote, queue } = withRemote();
    await queue.landed(queue.session('Add', { files: { a: '1\n' } }));
    expect(remote.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  });

  it('goes on from what the remote has, not from what this clone knows', async () => {
    const { demo, remote, queue } = withRemote();
    const session = queue.session('Add', { files: { a: '1\n' } });
    const foreign = foreignPush(demo, { b: '1\n' });
    await queue.landed(session);
    expect(remote.git('rev-parse', 'main^1')).toBe(foreign);
    expect(demo.read('b')).toBe('1\n');
  });

  it('says that the base moved once, and lands on what it is', async () => {
    const { demo, remote, queue } = withRemote();
    const session = queue.session('Add', { files: { a: '1\n' } });
    let foreign = '';
    queue.parts.step = (name) => {
      if (name === 'intended' && foreign === '') foreign = foreignPush(demo, { b: '1\n' });
    };
    const entry = await queue.landed(session);
    expect(queue.story(session)).toContain('queued: base moved once');
    expect(entry).toMatchObject({ baseMoved: 1, tries: 0 });
    expect(remote.git('rev-parse', 'main^1')).toBe(foreign);
    expect([remote.show('main', 'a'), remote.show('main', 'b')]).toEqual(['1\n', '1\n']);
  });

  it('gives a base that moves all the time some time, and the others their turn', async () => {
    const { demo, remote, queue } = withRemote();
    const session = queue.session('Add', { files: { a: '1\n' } });
    const other = queue.session('Other', { files: { o: '1\n' } });
    let pushes = 0;
    queue.parts.step = async (name) => {
      if (name !== 'intended' || pushes >= 4) return;
      pushes += 1;
      foreignPush(demo, { [`f${pushes}`]: '1\n' }, `Foreign${pushes}`);
      if (pushes === 4) await queue.land(other);
    };
    await queue.land(session);
    await queue.until(other, 'landed');
    expect(queue.story(session)).toContain('queued: base moved 4 times');
    queue.clock.pass(2_000);
    await queue.until(session, 'landed');
    expect(remote.log('main').slice(0, 3)).toEqual([
      "Merge 'Add' (fairlead/add)",
      "Merge 'Other' (fairlead/other)",
      'Foreign4',
    ]);
  });

  it('stops when the base was rewound, says so, and goes on when landed again', async () => {
    const { remote, queue } = withRemote();
    await queue.landed(queue.session('Before', { files: { z: '1\n' } }));
    const rewound = remote.tip('main');
    remote.git('update-ref', 'refs/heads/main', 'main~1');
    const session = queue.session('Add', { files: { a: '1\n' }, from: 'main~1' });
    await queue.land(session);
    expect(await queue.until(session, 'failed')).toMatchObject({
      reason: 'base-rewound',
      message: expect.stringContaining(rewound.slice(0, 10)),
      tries: 0,
    });
    await queue.landed(session);
    expect(remote.log('main')).toEqual(["Merge 'Add' (fairlead/add)", 'Start']);
    expect(queue.entry(session).message).toBe('Your local main has commits of its own and stays as it is.');
  });

  it('waits with what the server says when it refuses, and holds up nobody', async () => {
    const { demo, remote, queue } = withRemote();
    demo.git('push', '--quiet', 'origin', 'main:next');
    demo.git('branch', '--quiet', '--track', 'next', 'origin/next');
    remote.hook(
      'pre-receive',
      'while read old new ref; do [ $ref = refs/heads/next ] || { echo "main is protected: open a review"; exit 1; }; done',
    );
    const refused = queue.session('Refused', { files: { a: '1\n' } });
    const other = queue.session('Other', { base: 'next', files: { b: '1\n' } });
    await queue.land(refused);
    await queue.land(other);
    expect(await queue.until(refused, 'waiting')).toMatchObject({
      reason: 'base-refuses-pushes',
      message: expect.stringContaining('main is protected: open a review'),
      tries: 0,
    });
    expect(queue.record(refused).demand).toMatchObject({ kind: 'base-refuses-pushes' });
    await queue.until(other, 'landed');

    remote.hook('pre-receive', 'exit 0');
    await queue.land(refused);
    await queue.until(refused, 'landed');
    expect(queue.record(refused).demand).toBeNull();
    expect(queue.leftovers()).toEqual([]);
  });

  it("waits when the person's own pre-push hook says no", async () => {
    const { demo, remote, queue } = withRemote();
    demo.hook('pre-push', 'echo "not on a friday" >&2; exit 1');
    const session = queue.session('Add', { files: { a: '1\n' } });
    await queue.land(session);
    expect(await queue.until(session, 'waiting')).toMatchObject({
      reason: 'base-refuses-pushes',
      message: expect.stringMatching(/^Your pre-push hook refuses the push to origin: .*not on a friday/s),
      tries: 0,
    });
    expect(remote.log('main')).toEqual(['Start']);
  });

  it('waits as offline while the remote is gone, and lands when it is back', async () => {
    const { remote, queue } = withRemote();
    const session = queue.session('Add', { files: { a: '1\n' } });
    renameSync(remote.folder, `${remote.folder}.away`);
    await queue.land(session);
    expect(await queue.until(session, 'waiting')).toMatchObject({
      reason: 'offline',
      tries: 0,
      message: `origin cannot be reached: there is no such repository: '${remote.folder}' does not appear to be a git repository.`,
    });
    queue.clock.pass(40_000);
    renameSync(`${remote.folder}.away`, remote.folder);
    queue.clock.pass(40_000);
    await queue.until(session, 'landed');
    expect(remote.show('main', 'a')).toBe('1\n');
  });

  it('does not say "landed" before the remote could be read back, and lands once', async () => {
    const { remote, queue } = withRemote();
    const session = queue.session('Add', { files: { a: '1\n' } });
    queue.parts.step = (name) => {
      if (name === 'swapped') renameSync(remote.folder, `${remote.folder}.away`);
    };
    await queue.land(session);
    expect(await queue.until(session, 'offline')).toMatchObject({ state: 'waiting', landed: null });
    // Not known whether it happened: it cannot be taken back.
    expect(await queue.cancel(session)).toMatchObject({ state: 'waiting' });
    queue.parts.step = () => {};
    renameSync(`${remote.folder}.away`, remote.folder);
    queue.clock.pass(40_000);
    await queue.until(session, 'landed');
    expect(remote.log('main')).toEqual(["Merge 'Add' (fairlead/add)", 'Start']);
    expect(queue.leftovers()).toEqual([]);
  });

  it('knows a push that was given up and arrived later for its own', async () => {
    const { demo, remote, queue } = withRemote();
    const session = queue.session('Add', { files: { a: '1\n' } });
    let late = '';
    queue.parts.step = (name) => {
      if (name !== 'intended' || late !== '') return;
      late = queue.parts.entries.intent(queue.entry(session).id)?.new_commit ?? '';
      // Another push of the same commit, as of a git that outlived a sidecar, has got there first. Then somebody
      // pushes on top of it, so that our own is refused.
      demo.git('push', '--quiet', 'origin', `${late}:main`);
      foreignPush(demo, { b: '1\n' });
    };
    const entry = await queue.landed(session);
    expect(entry.landed).toBe(late);
    expect(remote.log('main')).toEqual(['Foreign', "Merge 'Add' (fairlead/add)", 'Start']);
  });

  it('leaves a local base behind that cannot follow, and says why', async () => {
    const { demo, remote, queue } = withRemote({ a: '1\n' });
    const session = queue.session('Edit', { files: { a: '2\n' } });
    demo.write({ a: 'mine\n' });
    const entry = await queue.landed(session);
    expect(entry.message).toContain('Your local main stays behind:');
    expect([remote.show('main', 'a'), demo.read('a'), demo.log('main')]).toEqual([
      '2\n',
      'mine\n',
      ['Start'],
    ]);
    expect(queue.leftovers()).toEqual([]);
  });

  it('fails visibly when the remote lost the base', async () => {
    const { demo, remote, queue } = withRemote();
    demo.git('push', '--quiet', 'origin', 'main:next');
    demo.git('branch', '--quiet', '--track', 'next', 'origin/next');
    const session = queue.session('Add', { base: 'next', files: { a: '1\n' } });
    remote.git('branch', '--quiet', '-D', 'next');
    await queue.land(session);
    expect(await queue.until(session, 'failed')).toMatchObject({
      reason: 'base-missing',
      message: 'origin has no branch next.',
    });
  });
});

describe('local commits that the remote lacks', () => {
  it('are asked about, and land along when the person says so', async () => {
    const { demo, remote, queue } = withRemote();
    demo.commit({ mine: '1\n' }, 'Not pushed');
    const session = queue.session('Add', { files: { a: '1\n' } });
    await expect(queue.land(session)).rejects.toMatchObject({
      code: 'land.base-diverged',
      data: { localOnly: 1 },
    });
    await queue.landed(session, { withLocalCommits: true });
    expect(remote.show('main', 'mine')).toBe('1\n');
  });

  it('are found also when the local base has gone on', async () => {
    const { demo, queue } = withRemote();
    demo.commit({ mine: '1\n' }, 'Not pushed');
    const session = queue.session('Add', { files: { a: '1\n' } });
    demo.commit({ mine: '2\n' }, 'Not pushed either');
    await expect(queue.land(session)).rejects.toMatchObject({ data: { localOnly: 1 } });
  });

  it('are nothing to ask about when the session does not build on them', async () => {
    const { demo, remote, queue } = withRemote();
    const session = queue.session('Add', { files: { a: '1\n' } });
    demo.commit({ mine: '1\n' }, 'Not pushed');
    const entry = await queue.landed(session);
    expect(remote.show('main', 'mine')).toBeUndefined();
    expect(entry.message).toBe('Your local main has commits of its own and stays as it is.');
    expect(demo.log('main')).toEqual(['Not pushed', 'Start']);
  });

  it('stop an entry whose remote was rewound to before them', async () => {
    const { demo, remote, queue } = withRemote();
    demo.commit({ mine: '1\n' }, 'Pushed');
    demo.git('push', '--quiet');
    const session = queue.session('Add', { files: { a: '1\n' } });
    remote.git('update-ref', 'refs/heads/main', 'main~1');
    await queue.land(session);
    expect(await queue.until(session, 'failed')).toMatchObject({ reason: 'base-rewound', tries: 0 });
    // That they come back is one question, that they are not pushed another.
    await expect(queue.land(session)).rejects.toMatchObject({ code: 'land.base-diverged' });
    expect(remote.log('main')).toEqual(['Start']);
  });
});

describe('where to', () => {
  it('is asked at the first landing of a repository with a remote, and kept', async () => {
    const demo = demoWith();
    const remote = demo.withRemote();
    const queue = TestQueue.open(demo);
    const [one, two] = ['One', 'Two'].map((title) => queue.session(title, { files: { [title]: '1\n' } }));
    if (one === undefined || two === undefined) throw new Error('two sessions');
    await expect(queue.land(one)).rejects.toMatchObject({
      code: 'land.where-to-unset',
      data: { target: null, remote: 'origin', base: 'main', ahead: 1 },
    });
    expect(queue.parts.queue.list({ ended: true })).toEqual([]);
    await queue.landed(one, { to: 'local' });
    expect((await queue.landed(two)).target).toBe('local');
    expect([demo.log('main').length, remote.log('main').length]).toEqual([3, 1]);
    expect((await queue.parts.queue.preview(two.id)).target).toBe('local');
  });

  it('is what the person said, whatever the file of the repository says by now', async () => {
    const demo = demoWith();
    const remote = demo.withRemote();
    const queue = TestQueue.open(demo, { shared: { land: { to: 'remote' } } });
    const [one, two, three] = ['One', 'Two', 'Three'].map((title) =>
      queue.session(title, { files: { [title]: '1\n' } }),
    );
    if (one === undefined || two === undefined || three === undefined) throw new Error('three sessions');
    expect((await queue.parts.queue.preview(one.id)).target).toBe('remote');
    await queue.landed(one, { to: 'local' });
    expect((await queue.landed(two)).target).toBe('local');
    expect(remote.log('main')).toEqual(['Start']);
    queue.parts.config = { ...queue.parts.config, land: { to: 'remote' } };
    expect((await queue.landed(three, { withLocalCommits: true })).target).toBe('remote');
  });

  it('is this clone when there is no remote, and a remote is refused then', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    await expect(queue.land(session, { to: 'remote' })).rejects.toMatchObject({ code: 'land.no-remote' });
    expect((await queue.landed(session)).target).toBe('local');
  });

  it('can be changed for a session that waits, which keeps its place', async () => {
    const { demo, remote, queue } = withRemote();
    const session = queue.session('Add', { files: { a: '1\n' } });
    renameSync(remote.folder, `${remote.folder}.away`);
    await queue.land(session);
    const waiting = await queue.until(session, 'offline');
    await queue.land(session, { to: 'local' });
    expect(await queue.until(session, 'landed')).toMatchObject({ id: waiting.id, target: 'local' });
    expect(demo.show('main', 'a')).toBe('1\n');
  });

  it('takes what landed here to the remote later', async () => {
    const demo = demoWith();
    const remote = demo.withRemote();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    await queue.landed(session, { to: 'local' });
    await queue.landed(session, { to: 'remote', withLocalCommits: true });
    expect(remote.show('main', 'a')).toBe('1\n');
  });

  it('previews what landing would do and changes nothing', async () => {
    const { demo, queue } = withRemote();
    const session = queue.session('Add', { files: { a: '1\n' } });
    session.work.write({ b: '2\n' });
    const before = [demo.git('for-each-ref'), demo.objects(), session.work.status()];
    expect(await queue.parts.queue.preview(session.id)).toEqual({
      target: 'remote',
      remote: 'origin',
      base: 'main',
      ahead: 1,
      uncommitted: ['b'],
      localOnly: 0,
      configured: 'remote',
      kept: null,
      policy: null,
      mayLand: true,
    });
    expect([demo.git('for-each-ref'), demo.objects(), session.work.status()]).toEqual(before);
  });
});
