import { describe, expect, it } from 'vitest';
import { demoWith, TestQueue } from '../../support/queue.ts';

describe('a session that lands after another', () => {
  it('waits for it, holds up nobody else, and lands as soon as it has landed', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const first = queue.session('First', { files: { a: '1\n' } });
    const second = queue.session('Second', { files: { b: '1\n' } });
    const other = queue.session('Other', { files: { c: '1\n' } });
    await queue.land(second, { after: [first.id] });
    expect(await queue.until(second, 'waiting')).toMatchObject({
      reason: 'after',
      message: `It lands after ${first.id}, which is not queued yet: fairlead land ${first.id}`,
      after: [first.id],
      tries: 0,
    });
    await queue.landed(other);
    expect(queue.entry(second).state).toBe('waiting');
    await queue.landed(first);
    await queue.until(second, 'landed');
    expect(demo.git('log', '--first-parent', '--format=%s', '-3', 'main').split('\n')).toEqual([
      "Merge 'Second' (fairlead/second)",
      "Merge 'First' (fairlead/first)",
      "Merge 'Other' (fairlead/other)",
    ]);
  });

  it('lands at once where the other has landed before', async () => {
    const queue = TestQueue.open(demoWith());
    const first = queue.session('First', { files: { a: '1\n' } });
    const second = queue.session('Second', { files: { b: '1\n' } });
    await queue.landed(first);
    await queue.landed(second, { after: [first.branch] });
  });

  it('tells the person when the other leaves the queue, and goes on once that one has landed after all', async () => {
    const demo = demoWith({ a: '0\n' });
    const queue = TestQueue.open(demo, { config: { land: { handBack: false } } });
    const first = queue.session('First', { files: { a: '1\n' } });
    const second = queue.session('Second', { files: { b: '1\n' } });
    demo.commit({ a: 'main\n' }, 'Meanwhile');
    await queue.land(first);
    await queue.until(first, 'conflict');
    await queue.land(second, { after: [first.id] });
    await queue.until(second, 'after');
    expect(queue.record(second).demand).toMatchObject({
      kind: 'landing-stopped',
      message: `It lands after ${first.id}, which left the queue without landing: fairlead show ${first.id}`,
    });
    first.work.git('reset', '-q', '--hard', 'main');
    first.work.commit({ a: 'solved\n' }, 'Solved');
    await queue.landed(first);
    await queue.until(second, 'landed');
    expect(queue.record(second).demand).toBeNull();
  });

  it('can be taken out while it waits', async () => {
    const queue = TestQueue.open(demoWith());
    const first = queue.session('First', { files: { a: '1\n' } });
    const second = queue.session('Second', { files: { b: '1\n' } });
    await queue.land(second, { after: [first.id] });
    await queue.until(second, 'after');
    expect(await queue.cancel(second)).toMatchObject({ state: 'cancelled' });
  });

  it('is neither itself, nor of another base, nor one that waits for it', async () => {
    const demo = demoWith();
    demo.git('branch', 'next');
    const queue = TestQueue.open(demo);
    const [a, b, c] = ['A', 'B', 'C'].map((title) => queue.session(title, { files: { [title]: '1\n' } }));
    const elsewhere = queue.session('Elsewhere', { base: 'next', files: { d: '1\n' } });
    if (a === undefined || b === undefined || c === undefined) throw new Error('three sessions');
    await queue.land(a, { after: [b.id] });
    await queue.land(b, { after: [c.id] });
    const refused = (after: string, message: RegExp) =>
      expect(queue.land(c, { after: [after] })).rejects.toMatchObject({
        code: 'params.invalid',
        message: expect.stringMatching(message),
      });
    await refused(c.id, /after itself/);
    await refused(elsewhere.id, /does not land on main/);
    await refused(a.id, /wait for the other/);
    await expect(queue.land(c, { after: ['nobody'] })).rejects.toMatchObject({ code: 'session.missing' });
  });
});
