import { describe, expect, it } from 'vitest';
import { Patience } from '../../../sidecar/platform/patience.ts';
import { TestClock } from '../../support/test-clock.ts';

const MINUTE = 60_000;

describe('a limit of time', () => {
  it('is over after its time', () => {
    const clock = new TestClock();
    const { signal } = new Patience(clock, 30_000);
    clock.pass(29_000);
    expect(signal.aborted).toBe(false);
    clock.pass(1_000);
    expect(signal.aborted).toBe(true);
  });

  it('stands still while a person is asked for it, also by several questions, and no other does', async () => {
    const clock = new TestClock();
    const asking = new Patience(clock, 30_000);
    const other = new Patience(clock, 30_000);
    clock.pass(20_000);
    const answers = [Promise.withResolvers<string>(), Promise.withResolvers<string>()] as const;
    const asked = answers.map(({ promise }) => asking.whileAsking(() => promise));
    clock.pass(2 * MINUTE);
    expect(other.signal.aborted).toBe(true);
    answers[0].resolve('secret');
    await asked[0];
    clock.pass(2 * MINUTE);
    expect(asking.signal.aborted).toBe(false);
    answers[1].reject(new Error('gone'));
    await expect(asked[1]).rejects.toThrow('gone');
    clock.pass(9_000);
    expect(asking.signal.aborted).toBe(false);
    clock.pass(2_000);
    expect(asking.signal.aborted).toBe(true);
  });

  it('stands still for ten minutes at most, in one question or in many', async () => {
    const clock = new TestClock();
    const one = new Patience(clock, 30_000);
    const many = new Patience(clock, 30_000);
    void one.whileAsking(() => new Promise(() => {}));
    for (let minutes = 0; minutes < 10; minutes += 2) {
      const answer = Promise.withResolvers<void>();
      const asked = many.whileAsking(() => answer.promise);
      clock.pass(2 * MINUTE);
      answer.resolve();
      await asked;
    }
    expect([one.signal.aborted, many.signal.aborted]).toEqual([false, false]);
    void many.whileAsking(() => new Promise(() => {}));
    clock.pass(30_000);
    expect([one.signal.aborted, many.signal.aborted]).toEqual([true, true]);
  });

  it('that was ended is never over', async () => {
    const clock = new TestClock();
    const patience = new Patience(clock, 1_000);
    const answer = Promise.withResolvers<void>();
    const asked = patience.whileAsking(() => answer.promise);
    patience.end();
    answer.resolve();
    await asked;
    clock.pass(60 * MINUTE);
    expect(patience.signal.aborted).toBe(false);
  });
});
