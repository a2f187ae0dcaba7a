import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { demoWith, TestQueue } from '../../support/queue.ts';

const REFUSE = { land: { uncommitted: 'refuse' as const } };

describe('securing the work', () => {
  it('leaves the queue with what a commit hook says', async () => {
    const demo = demoWith();
    demo.hook('pre-commit', 'echo "no tabs please" >&2; exit 1');
    const queue = TestQueue.open(demo);
    const session = queue.session('Add');
    session.work.write({ a: '\t\n' });
    await queue.land(session);
    expect(await queue.until(session, 'failed')).toMatchObject({
      reason: 'commit-refused',
      message: expect.stringContaining('no tabs please'),
      tries: 0,
    });
    expect(queue.record(session).demand?.kind).toBe('landing-stopped');
    expect(session.work.status()).toBe('?? a');
    expect(demo.log('main')).toEqual(['Start']);
  });

  it('waits during a turn, holds up nobody, and goes on when the turn has ended', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const busy = queue.session('Busy');
    const idle = queue.session('Idle', { files: { b: '2\n' } });
    queue.parts.inTurn.add(busy.id);
    await queue.land(busy);
    await queue.land(idle);
    await queue.until(busy, 'in-a-turn');
    await queue.until(idle, 'landed');
    busy.work.write({ a: '1\n' });
    expect(busy.work.log()).toEqual(['Start']);
    queue.parts.inTurn.delete(busy.id);
    queue.parts.queue.tick();
    await queue.until(busy, 'landed');
    expect(demo.show('main', 'a')).toBe('1\n');
  });

  it('notices the end of a turn that nobody told of', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Busy', { files: { a: '1\n' } });
    queue.parts.inTurn.add(session.id);
    await queue.land(session);
    await queue.until(session, 'in-a-turn');
    queue.parts.inTurn.delete(session.id);
    queue.clock.pass(60_000);
    await queue.until(session, 'landed');
  });

  it('does not spin while a turn goes on', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Busy', { files: { a: '1\n' } });
    queue.parts.inTurn.add(session.id);
    await queue.land(session);
    await queue.until(session, 'in-a-turn');
    const said = queue.story(session).length;
    for (let at = 0; at < 5; at += 1) queue.clock.pass(60_000);
    await queue.parts.queue.stop();
    expect(queue.story(session)).toHaveLength(said);
  });

  it.each(['goes on', 'has ended'])(
    'lands no half of a turn that begins while the commit hook runs, when it %s by then',
    async (end) => {
      const demo = demoWith();
      const [begun, go] = [join(demo.root, 'begun'), join(demo.root, 'go')];
      demo.hook('pre-commit', `touch '${begun}'; while ! test -e '${go}'; do sleep 0.02; done`);
      const queue = TestQueue.open(demo);
      const session = queue.session('Add');
      session.work.write({ a: '1\n' });
      await queue.land(session);
      await expect.poll(() => existsSync(begun), { timeout: 20_000 }).toBe(true);
      queue.parts.table.openTurn({
        session: session.id,
        agent_session: 'agent',
        event: 'event',
        prompt: 'More',
        started_at: queue.clock.now(),
      });
      session.work.write({ b: '2\n' });
      if (end === 'goes on') queue.parts.inTurn.add(session.id);
      writeFileSync(go, '');
      if (end === 'goes on') {
        await queue.until(session, 'in-a-turn');
        expect(demo.log('main')).toEqual(['Start']);
        queue.parts.inTurn.delete(session.id);
        queue.clock.pass(60_000);
      }
      await queue.until(session, 'landed');
      expect([demo.show('main', 'a'), demo.show('main', 'b')]).toEqual(['1\n', '2\n']);
    },
  );

  it('refuses uncommitted work where the person wants it so', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo, { config: REFUSE });
    const session = queue.session('Add', { files: { a: '1\n' } });
    session.work.write({ b: '2\n' });
    await expect(queue.land(session)).rejects.toMatchObject({ code: 'land.uncommitted', data: ['b'] });
    queue.parts.inTurn.add(session.id);
    await queue.land(session);
    await queue.until(session, 'in-a-turn');
    queue.parts.inTurn.delete(session.id);
    queue.parts.queue.tick();
    expect(await queue.until(session, 'failed')).toMatchObject({ reason: 'uncommitted', paths: ['b'] });
  });

  it('waits for an open merge of the author', async () => {
    const demo = demoWith({ a: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Edit', { files: { a: '2\n' } });
    demo.commit({ a: '3\n' }, 'Meanwhile');
    session.work.tryGit('merge', 'main');
    await queue.land(session);
    expect(await queue.until(session, 'waiting')).toMatchObject({ reason: 'uncommitted' });
    expect(queue.record(session).demand?.kind).toBe('landing-stopped');
    session.work.write({ a: '4\n' }).git('commit', '--quiet', '--all', '-m', 'Resolved');
    queue.clock.pass(60_000);
    await queue.until(session, 'landed');
    expect(demo.show('main', 'a')).toBe('4\n');
    expect(queue.record(session).demand).toBeNull();
  });

  it('waits when the worktree stands on another branch, and commits nothing there', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    session.work.branch('own-idea').write({ b: '2\n' });
    await queue.land(session);
    expect((await queue.until(session, 'waiting')).message).toMatch(
      /^The worktree stands on own-idea, not on fairlead\/add, and only that lands\. Go back to it: git -C .* switch fairlead\/add$/,
    );
    expect(session.work.status()).toBe('?? b');
  });

  it('takes a branch without a worktree as it is', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    rmSync(session.work.folder, { recursive: true });
    await queue.landed(session);
    expect(demo.show('main', 'a')).toBe('1\n');
  });

  it('never commits in the repository around a worktree that has lost its way home', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    demo.git('worktree', 'add', '--quiet', '-b', 'fairlead/inside', join(demo.folder, '.git/inside'), 'main');
    const inside = demo.at(join(demo.folder, '.git/inside'));
    inside.commit({ a: '1\n' }, 'Inside');
    queue.parts.addSession(demo.folder, {
      id: 'sinside',
      title: 'Inside',
      branch: 'fairlead/inside',
      base: 'main',
      worktree: inside.folder,
    });
    rmSync(join(inside.folder, '.git'));
    demo.write({ mine: 'not committed\n' });
    const session = { id: 'sinside', branch: 'fairlead/inside', work: inside };
    await queue.land(session);
    expect(await queue.until(session, 'waiting')).toMatchObject({
      reason: 'infrastructure',
      message: expect.stringContaining('has lost its .git file'),
    });
    expect([demo.status(), demo.log('main')]).toEqual(['?? mine', ['Start']]);
  });
});
