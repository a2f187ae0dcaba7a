import { describe, expect, it } from 'vitest';
import { demoWith, TestQueue } from '../../support/queue.ts';

describe('the land order', () => {
  it('lets a conflict that is not handed back go with its paths, as one try, and lands what comes next', async () => {
    const demo = demoWith({ a: '1\n', b: '1\n' });
    const queue = TestQueue.open(demo, { config: { land: { handBack: false } } });
    const loses = queue.session('Loses', { files: { a: 'loses\n' } });
    const lands = queue.session('Lands', { files: { b: 'lands\n' } });
    demo.commit({ a: 'main\n' }, 'Meanwhile');
    await Promise.all([queue.land(loses), queue.land(lands)]);
    expect(await queue.until(loses, 'failed')).toMatchObject({
      reason: 'conflict',
      paths: ['a'],
      tries: 1,
      position: null,
    });
    expect(queue.record(loses)).toMatchObject({ landing: 'none', demand: { kind: 'conflict' } });
    await queue.until(lands, 'landed');
    expect([demo.show('main', 'a'), demo.show('main', 'b')]).toEqual(['main\n', 'lands\n']);
    expect([loses.work.status(), queue.leftovers()]).toEqual(['', []]);
  });

  it('names the commit at which a rebase stops', async () => {
    const demo = demoWith({ a: '1\n' });
    const queue = TestQueue.open(demo, { config: { land: { handBack: false } } });
    const session = queue.session('Edit', { files: { b: 'fine\n' } });
    session.work.commit({ a: '2\n' }, 'The one that clashes');
    demo.commit({ a: '3\n' }, 'Meanwhile');
    await queue.land(session, { method: 'rebase' });
    expect((await queue.until(session, 'failed')).message).toBe(
      'It conflicts with main at "The one that clashes" in a.',
    );
  });

  it('says at once that there is nothing to land', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    await expect(queue.land(queue.session('Idle'))).rejects.toMatchObject({ code: 'land.nothing-to-land' });
    expect(queue.parts.queue.list({ ended: true })).toEqual([]);
  });

  it('ends the second of two equal sessions as nothing to land', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const [one, two] = ['One', 'Two'].map((title) => queue.session(title, { files: { a: '1\n' } }));
    if (one === undefined || two === undefined) throw new Error('two sessions');
    await Promise.all([queue.land(one), queue.land(two)]);
    await queue.until(one, 'landed');
    expect(await queue.until(two, 'nothing-to-land')).toMatchObject({ landed: null, tries: 0 });
    expect(queue.record(two).landing).toBe('none');
    expect(demo.log('main')).toHaveLength(2);
  });

  it('fails visibly when the branch is gone', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    queue.parts.inTurn.add(session.id);
    await queue.land(session);
    await queue.until(session, 'in-a-turn');
    demo.git('worktree', 'remove', '--force', session.work.folder);
    demo.git('branch', '--quiet', '-D', session.branch);
    queue.parts.inTurn.clear();
    queue.parts.queue.tick();
    expect((await queue.until(session, 'failed')).reason).toBe('branch-missing');
    expect(queue.record(session).demand?.kind).toBe('landing-stopped');
  });

  it('fails visibly when the base is gone', async () => {
    const demo = demoWith();
    demo.git('branch', 'next');
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { base: 'next', files: { a: '1\n' } });
    demo.git('branch', '--quiet', '-D', 'next');
    await queue.land(session);
    expect((await queue.until(session, 'failed')).reason).toBe('base-missing');
  });

  it('queues a session again, last and for all to see, when its head moves', async () => {
    const demo = demoWith({ mine: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Moves', { files: { a: '1\n' } });
    const queued = session.work.tip();
    let moved = false;
    queue.parts.step = (name) => {
      if (name !== 'secured' || moved) return;
      moved = true;
      session.work.commit({ b: '2\n' }, 'One more');
    };
    await queue.landed(session);
    expect(queue.story(session)).toContain(
      'queued: fairlead/moves moved after it was queued; it goes to the end of the land order.',
    );
    expect(queue.entry(session).head).not.toBe(queued);
    expect(demo.show('main', 'b')).toBe('2\n');
  });

  it('lands nothing that was not queued when the head moves behind the check', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Moves', { files: { a: '1\n' } });
    const other = queue.session('Other', { files: { o: '1\n' } });
    let moved = false;
    queue.parts.step = async (name) => {
      if (name !== 'checked' || moved) return;
      moved = true;
      session.work.commit({ b: '2\n' }, 'One more');
      await queue.land(other);
    };
    await queue.landed(session);
    expect(demo.log('main')).toEqual([
      "Merge 'Moves' (fairlead/moves)",
      "Merge 'Other' (fairlead/other)",
      'Start',
    ]);
    expect(queue.leftovers()).toEqual([]);
  });

  it('refuses a session that is queued already, whatever state it is in', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    const results = await Promise.allSettled([queue.land(session), queue.land(session)]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(results[1]).toMatchObject({ reason: { code: 'land.already-queued' } });
    await queue.until(session, 'landed');
  });

  it('counts the positions of each base on its own', async () => {
    const demo = demoWith();
    demo.git('branch', 'next');
    const queue = TestQueue.open(demo);
    const titles = ['One', 'Two', 'Three'];
    const sessions = titles.map((title) =>
      queue.session(title, { base: title === 'Two' ? 'next' : 'main', files: { [title]: '1\n' } }),
    );
    for (const session of sessions) {
      queue.parts.inTurn.add(session.id);
      await queue.land(session);
    }
    const list = queue.parts.queue.list({ ended: false });
    expect(list.map(({ title, position }) => [title, position])).toEqual([
      ['One', 1],
      ['Two', 1],
      ['Three', 2],
    ]);
    expect(queue.parts.queue.list({ base: 'next', ended: false }).map(({ title }) => title)).toEqual(['Two']);
    expect(queue.parts.queue.isBusy).toBe(true);
  });

  it('is refused with a git that cannot merge in memory', async () => {
    const demo = demoWith();
    const old = { 'bin/git': { text: OLD_GIT, executable: true as const } };
    demo.at(demo.root).write(old);
    const PATH = `${demo.root}/bin:${demo.environment.PATH}`;
    const queue = TestQueue.open(demo, { environment: { ...demo.environment, PATH } });
    const session = queue.session('Add', { files: { a: '1\n' } });
    await expect(queue.land(session)).rejects.toMatchObject({ code: 'git.too-old' });
    expect(queue.parts.queue.list({ ended: true })).toEqual([]);
  });

  it('tells a base that was rewound, stops all that is queued for it, and goes on when landed again', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    await queue.landed(queue.session('Before', { files: { z: '1\n' } }));
    const sessions = ['One', 'Two'].map((title) =>
      queue.session(title, { from: 'main~1', files: { [title]: '1\n' } }),
    );
    demo.git('reset', '--quiet', '--hard', 'HEAD~1');
    for (const session of sessions) queue.parts.inTurn.add(session.id);
    for (const session of sessions) await queue.land(session);
    queue.parts.inTurn.clear();
    queue.parts.queue.tick();
    for (const session of sessions) {
      expect(await queue.until(session, 'failed')).toMatchObject({ reason: 'base-rewound', tries: 0 });
      expect(queue.record(session).demand?.kind).toBe('landing-stopped');
    }
    expect(demo.log('main')).toEqual(['Start']);
    for (const session of sessions) await queue.landed(session);
    expect(demo.log('main')).toHaveLength(3);
  });
});

/** Calls the next git on PATH, but is older. */
const OLD_GIT = `#!/bin/sh
PATH=\${PATH#*:}
case "$*" in *version) echo "git version 2.37.1";; *) exec git "$@";; esac
`;
