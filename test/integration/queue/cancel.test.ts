import { describe, expect, it } from 'vitest';
import type { LandingStep } from '../../../sidecar/queue/context.ts';
import { demoWith, TestQueue, type TestSession } from '../../support/queue.ts';

/** Takes the session out of the queue when its landing has come to `step`. */
function cancelAt(queue: TestQueue, session: TestSession, step: LandingStep) {
  let answer: ReturnType<TestQueue['cancel']> | undefined;
  queue.parts.step = (name) => {
    if (name === step) answer ??= queue.cancel(session);
  };
  return () => answer;
}

describe('taking a session out of the queue', () => {
  it('is refused when it is not in it', async () => {
    const queue = TestQueue.open(demoWith());
    const session = queue.session('Idle');
    await expect(queue.cancel(session)).rejects.toMatchObject({ code: 'queue.not-queued' });
  });

  it('wins while it waits', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    queue.parts.inTurn.add(session.id);
    await queue.land(session);
    await queue.until(session, 'in-a-turn');
    expect(await queue.cancel(session)).toMatchObject({
      state: 'cancelled',
      reason: 'cancelled',
      position: null,
    });
    expect(queue.record(session)).toMatchObject({ landing: 'none', demand: null });
    queue.parts.inTurn.clear();
    queue.clock.pass(60_000);
    await queue.parts.queue.stop();
    expect(demo.log('main')).toEqual(['Start']);
  });

  it('wins at once behind one that is being checked', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const first = queue.session('First', { files: { a: '1\n' } });
    const second = queue.session('Second', { files: { b: '1\n' } });
    await queue.land(first, { check: 'sleep 60' });
    await queue.until(first, 'checking');
    await queue.land(second);
    expect((await queue.cancel(second)).state).toBe('cancelled');
    expect(queue.entry(first).state).toBe('checking');
    expect((await queue.cancel(first)).state).toBe('cancelled');
    expect([demo.log('main'), queue.leftovers()]).toEqual([['Start'], []]);
  });

  it.each(['secured', 'merged', 'checked'] as const)('wins after "%s"', async (step) => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    const answer = cancelAt(queue, session, step);
    await queue.land(session);
    await queue.until(session, 'cancelled');
    expect(await answer()).toMatchObject({ state: 'cancelled' });
    expect([demo.log('main'), queue.leftovers()]).toEqual([['Start'], []]);
    // It can land later.
    queue.parts.step = () => {};
    await queue.landed(session);
  });

  it.each(['intended', 'swap-prepared', 'swap-folder-moved', 'swapped', 'read-back', 'followed'] as const)(
    'loses after "%s", and the answer says so',
    async (step) => {
      const demo = demoWith();
      const queue = TestQueue.open(demo);
      const session = queue.session('Add', { files: { a: '1\n' } });
      const answer = cancelAt(queue, session, step);
      await queue.land(session);
      await queue.until(session, 'landed');
      expect(await answer()).toMatchObject({ state: 'landed', landed: demo.tip('main') });
      expect([demo.read('a'), queue.leftovers()]).toEqual(['1\n', []]);
    },
  );

  it('wins over a folder that refused after the intent', async () => {
    const demo = demoWith({ a: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Edit', { files: { a: '2\n' } });
    demo.write({ a: 'mine\n' });
    const answer = cancelAt(queue, session, 'intended');
    await queue.land(session);
    await queue.until(session, 'cancelled');
    expect(await answer()).toMatchObject({ state: 'cancelled' });
    expect(demo.read('a')).toBe('mine\n');
  });

  it('is no conflict when it came first', async () => {
    const demo = demoWith({ a: '1\n' });
    const queue = TestQueue.open(demo);
    const session = queue.session('Edit', { files: { a: '2\n' } });
    demo.commit({ a: '3\n' });
    cancelAt(queue, session, 'merged');
    await queue.land(session);
    expect(await queue.until(session, 'cancelled', 'failed')).toMatchObject({ state: 'cancelled', tries: 0 });
  });

  it('is not what the end of the sidecar does', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    const session = queue.session('Add', { files: { a: '1\n' } });
    await queue.land(session, { check: 'test -e ../go || sleep 60' });
    await queue.until(session, 'checking');
    await queue.restart();
    await queue.until(session, 'checking');
    expect(queue.story(session)).not.toContainEqual(expect.stringContaining('cancelled'));
    expect((await queue.cancel(session)).state).toBe('cancelled');
  });
});
