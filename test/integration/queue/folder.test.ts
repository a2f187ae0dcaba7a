import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { demoWith, TestQueue } from '../../support/queue.ts';

describe('a base whose folder is in the way', () => {
  it('waits with the paths of changed files, and lands once they are clean', async () => {
    const demo = demoWith({ a: '1\n', b: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Edit', { files: { a: 'landed\n' } });
    const next = queue.session('Next', { files: { b: 'landed\n' } });
    demo.write({ a: 'mine\n' });
    await queue.land(session);
    await queue.land(next);
    expect(await queue.until(session, 'waiting')).toMatchObject({
      reason: 'folder-in-the-way',
      paths: ['a'],
      tries: 0,
    });
    await queue.until(next, 'landed');
    expect([demo.read('a'), demo.status()]).toEqual(['mine\n', ' M a']);
    expect(queue.parts.entries.intent(queue.entry(session).id)).toBeUndefined();

    demo.git('checkout', '--', 'a');
    queue.clock.pass(20_000);
    await queue.until(session, 'landed');
    expect([demo.read('a'), demo.status()]).toEqual(['landed\n', '']);
  });

  it('says once that it waits, however often it looks', async () => {
    const demo = demoWith({ a: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Edit', { files: { a: 'landed\n' } });
    demo.write({ a: 'mine\n' });
    await queue.land(session);
    await queue.until(session, 'waiting');
    const said = queue.story(session);
    let looks = 0;
    queue.parts.step = (name) => {
      if (name === 'settled') looks += 1;
    };
    for (let at = 1; at <= 3; at += 1) {
      queue.clock.pass(20_000);
      await expect.poll(() => looks, { timeout: 20_000 }).toBe(at);
    }
    expect(queue.story(session)).toEqual(said);
  });

  it('is found before the check runs, which then runs once', async () => {
    const demo = demoWith({ a: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Edit', { files: { a: 'landed\n' } });
    demo.write({ a: 'mine\n' });
    await queue.land(session, { check: `echo run >> '${demo.root}/runs'` });
    expect(await queue.until(session, 'waiting')).toMatchObject({
      reason: 'folder-in-the-way',
      paths: ['a'],
    });
    expect(existsSync(join(demo.root, 'runs'))).toBe(false);
    demo.git('checkout', '--', 'a');
    queue.clock.pass(20_000);
    await queue.until(session, 'landed');
    expect(readFileSync(join(demo.root, 'runs'), 'utf8')).toBe('run\n');
  });

  it('costs neither another check nor other commits while it waits', async () => {
    const demo = demoWith({ a: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Edit', { files: { a: 'landed\n' } });
    let looks = 0;
    queue.parts.step = (name) => {
      if (name === 'checked') demo.write({ a: 'mine\n' });
      if (name === 'settled') looks += 1;
    };
    await queue.land(session, { check: `echo run >> '${demo.root}/runs'` });
    expect(await queue.until(session, 'waiting')).toMatchObject({ reason: 'folder-in-the-way' });
    const intents = () => queue.parts.store.all('SELECT new_commit FROM landing_intent');
    const [objects, intended] = [demo.git('count-objects'), intents()];
    await expect.poll(() => looks, { timeout: 20_000 }).toBe(1);
    for (let at = 2; at <= 4; at += 1) {
      queue.clock.pass(20_000);
      await expect.poll(() => looks, { timeout: 20_000 }).toBe(at);
    }
    expect([demo.git('count-objects'), intents()]).toEqual([objects, intended]);
    queue.parts.step = () => {};
    demo.git('checkout', '--', 'a');
    queue.clock.pass(20_000);
    await queue.until(session, 'landed');
    expect(readFileSync(join(demo.root, 'runs'), 'utf8')).toBe('run\n');
  });

  it('does not wait longer when the clock is set back', async () => {
    const demo = demoWith({ a: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Edit', { files: { a: 'landed\n' } });
    demo.write({ a: 'mine\n' });
    await queue.land(session);
    await queue.until(session, 'waiting');
    demo.git('checkout', '--', 'a');
    queue.clock.jump(-24 * 3_600_000);
    queue.parts.queue.tick();
    await queue.until(session, 'landed');
  });

  it('never overwrites an ignored file', async () => {
    const demo = demoWith({ '.gitignore': 'secret\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { secret: 'theirs\n', a: '1\n' } });
    demo.write({ secret: 'mine\n' });
    await queue.land(session);
    expect(await queue.until(session, 'waiting')).toMatchObject({
      reason: 'folder-in-the-way',
      paths: ['secret'],
    });
    expect(demo.read('secret')).toBe('mine\n');
    demo.write({ secret: null });
    await queue.land(session);
    await queue.until(session, 'landed');
    expect(demo.read('secret')).toBe('theirs\n');
  });

  it('waits for an operation that is open there', async () => {
    const demo = demoWith({ a: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { b: '1\n' } });
    demo.commitOn('side', { a: '2\n' });
    demo.commit({ a: '3\n' });
    demo.tryGit('merge', 'side');
    await queue.land(session);
    expect((await queue.until(session, 'waiting')).message).toContain('A merge is open in');
    demo.git('merge', '--abort');
    queue.clock.pass(20_000);
    await queue.until(session, 'landed');
  });

  it('does not steal the lock of another git', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { b: '1\n' } });
    const lock = join(demo.folder, '.git/refs/heads/main.lock');
    writeFileSync(lock, 'held');
    await queue.land(session);
    expect(await queue.until(session, 'waiting')).toMatchObject({ reason: 'infrastructure', tries: 0 });
    expect(readFileSync(lock, 'utf8')).toBe('held');
    demo.at(join(demo.folder, '.git/refs/heads')).write({ 'main.lock': null });
    queue.clock.pass(30_000);
    await queue.until(session, 'landed');
    expect(queue.leftovers()).toEqual([]);
  });
});
