import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { demoWith, TestQueue } from '../../support/queue.ts';

/** Whether the process whose id is in `file` runs; one that nobody has asked after since its end does not. */
function runs(file: string): boolean {
  try {
    const stat = readFileSync(`/proc/${readFileSync(file, 'utf8').trim()}/stat`, 'latin1');
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}

describe('the check', () => {
  it('sees exactly the tree that lands, and nothing else', async () => {
    const demo = demoWith({ a: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { b: '1\n' } });
    demo.commit({ c: 'meanwhile\n' });
    demo.write({ untracked: 'u\n', a: 'dirty\n' });
    const seen = join(demo.root, 'seen');
    const check = `git rev-parse HEAD^{tree} > '${seen}' && git status --porcelain --ignored >> '${seen}' && ls >> '${seen}'`;
    const entry = await queue.landed(session, { check });
    expect(readFileSync(seen, 'utf8')).toBe(`${demo.tree('main')}\na\nb\nc\n`);
    expect(entry.check).toBe(check);
    expect(queue.leftovers()).toEqual([]);
  });

  it('that is red on a green base is a try of the author, and the next lands', async () => {
    const demo = demoWith({ 'lib.sh': 'greet() { echo hello; }\n' });
    const queue = TestQueue.open(demo);
    const check = 'cat *.sh > all && sh all || exit 1';
    // Merges without a conflict, and does not work: one renames what the other begins to call.
    const renames = queue.session('Renames', { files: { 'lib.sh': 'welcome() { echo hello; }\n' } });
    const calls = queue.session('Calls', { files: { 'main.sh': 'set -e\ngreet\n' } });
    const next = queue.session('Next', { files: { c: '1\n' } });
    for (const session of [renames, calls, next]) await queue.land(session, { check });
    await queue.until(renames, 'landed');
    expect(await queue.until(calls, 'failed')).toMatchObject({ reason: 'red-check', tries: 1 });
    await queue.until(next, 'landed');
    expect(queue.record(calls).demand?.kind).toBe('check-failed');
    expect(queue.leftovers()).toEqual([]);
  });

  it('that is red on the base alone stops as "base is red", no try, and checks the same only once', async () => {
    const demo = demoWith({ broken: 'x\n' });
    const queue = TestQueue.open(demo);
    const log = join(demo.root, 'runs');
    const check = `echo run >> '${log}'; test ! -e broken`;
    const waits = queue.session('Waits', { files: { a: '1\n' } });
    const mends = queue.session('Mends', { files: { broken: null } });
    const count = () => readFileSync(log, 'utf8').split('\n').length - 1;
    await queue.land(waits, { check });
    expect(await queue.until(waits, 'waiting')).toMatchObject({ reason: 'base-red', tries: 0 });
    expect(count()).toBe(2);
    let looks = 0;
    queue.parts.step = (name) => {
      if (name === 'settled') looks += 1;
    };
    queue.clock.pass(30_000);
    await expect.poll(() => looks, { timeout: 20_000 }).toBe(1);
    expect(count()).toBe(2);

    await queue.landed(mends, { check });
    queue.clock.pass(30_000);
    await queue.until(waits, 'landed');
    expect(count()).toBe(4);
  });

  it('that was red on a red base gets another chance when the session is landed again', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const flag = join(demo.root, 'flag');
    const session = queue.session('Add', { files: { a: '1\n' } });
    await queue.land(session, { check: `test -e '${flag}'` });
    await queue.until(session, 'base-red');
    demo.at(demo.root).write({ flag: '' });
    await queue.landed(session);
  });

  it.each([
    ['no-such-command-here', 'cannot be run (exit 127'],
    ['./README.md', 'cannot be run (exit 126'],
    ['kill -KILL $$', 'was ended by SIGKILL'],
    ['sh -c "kill -TERM \\$\\$"; exit $?', 'was ended by SIGTERM'],
  ])('that cannot give an answer (%s) is infrastructure, and no try', async (check, said) => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    await queue.land(session, { check });
    expect(await queue.until(session, 'waiting', 'failed')).toMatchObject({
      state: 'waiting',
      reason: 'infrastructure',
      message: expect.stringContaining(said),
      tries: 0,
    });
    expect(queue.record(session).demand?.kind).toBe('check-failed');
    await queue.landed(session, { check: 'true' });
  });

  it('that crashes is red', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    await queue.land(session, { check: 'test ! -e a || kill -SEGV $$' });
    expect(await queue.until(session, 'failed')).toMatchObject({ reason: 'red-check', tries: 1 });
  });

  it('that hangs is ended with its whole process group, and holds up nobody', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo, { config: { land: { checkMinutes: 1 / 60 } } });
    const pids = ['leader', 'child', 'grandchild'].map((name) => join(demo.root, name));
    const [leader, child, grandchild] = pids;
    const check = `trap '' TERM; echo $$ > ${leader}; sleep 600 & echo $! > ${child}; (trap '' TERM; sh -c 'echo $$ > ${grandchild}; sleep 600') & wait; sleep 600`;
    const hangs = queue.session('Hangs', { files: { a: '1\n' } });
    const next = queue.session('Next', { files: { b: '1\n' } });
    await queue.land(hangs, { check });
    await queue.land(next);
    expect(await queue.until(hangs, 'waiting')).toMatchObject({
      reason: 'infrastructure',
      message: expect.stringContaining('took longer than 1 seconds'),
      tries: 0,
    });
    expect(pids.map(runs)).toEqual([false, false, false]);
    await queue.until(next, 'landed');
    expect(queue.leftovers()).toEqual([]);
  });

  it('that leaves children behind is green, and they are ended', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const pid = join(demo.root, 'pid');
    const session = queue.session('Add', { files: { a: '1\n' } });
    await queue.landed(session, { check: `sleep 600 & echo $! > '${pid}'` });
    expect(runs(pid)).toBe(false);
  });

  it('whose entry is cancelled says nothing any more, whatever it would have said', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const trapped = join(demo.root, 'trapped');
    const session = queue.session('Add', { files: { a: '1\n' } });
    await queue.land(session, {
      check: `trap 'touch ${trapped}; exit 0' TERM; touch ${trapped}.ready; while :; do sleep 0.05; done`,
    });
    await expect.poll(() => existsSync(`${trapped}.ready`), { timeout: 20_000 }).toBe(true);
    expect((await queue.cancel(session)).state).toBe('cancelled');
    expect(existsSync(trapped)).toBe(true);
    expect([demo.log('main'), queue.entry(session).state]).toEqual([['Start'], 'cancelled']);
  });

  it('runs in the environment of the session', async () => {
    const demo = demoWith();
    const environment = { ...demo.environment, MINE: 'yes' };
    const queue = TestQueue.open(demo, { environment });
    const session = queue.session('Add', { files: { a: '1\n' } });
    await queue.landed(session, { check: 'test "$MINE$CI" = yes1' });
  });

  it('finds the local settings that a worktree gets too', async () => {
    const demo = demoWith({ '.gitignore': '.env*\n' });
    demo.write({ '.env.local': 'KEY=1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    await queue.landed(session, { check: 'grep KEY=1 .env.local' });
  });

  it('is taken from the settings when nobody names one', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo, { config: { land: { check: 'test -e a' } } });
    expect((await queue.landed(queue.session('Add', { files: { a: '1\n' } }))).check).toBe('test -e a');
  });

  it('is run again on the new tree when the base moves meanwhile', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const trees = join(demo.root, 'trees');
    const session = queue.session('Add', { files: { a: '1\n' } });
    let moved = false;
    queue.parts.step = (name) => {
      if (name !== 'intended' || moved) return;
      moved = true;
      demo.commit({ b: 'the person\n' }, 'What the person did');
    };
    const entry = await queue.landed(session, { check: `git rev-parse HEAD^{tree} >> '${trees}'` });
    expect(entry).toMatchObject({ baseMoved: 1, tries: 0 });
    expect(queue.story(session)).toContain('queued: base moved once');
    const checked = readFileSync(trees, 'utf8').trim().split('\n');
    expect(checked).toHaveLength(2);
    expect(checked[1]).toBe(demo.tree('main'));
    expect(demo.log('main')[1]).toBe('What the person did');
  });
});
