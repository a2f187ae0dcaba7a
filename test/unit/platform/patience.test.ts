import { describe, expect, it } from 'vitest';
import { Patience } from '../../../sidecar/platform/patience.ts';
import { TestClock } from '../../support/test-clock.ts';

describe('a limit of time', () => {
  it('is over after its time', () => {
    const clock = new TestClock();
    const { signal } = new Patience(clock).deadline(30_000);
    clock.pass(29_000);
    expect(signal.aborted).toBe(false);
    clock.pass(1_000);
    expect(signal.aborted).toBe(true);
  });

  it('stands still while a person is asked, also by several questions, and for one that begins meanwhile', async () => {
    const clock = new TestClock();
    const patience = new Patience(clock);
    const early = patience.deadline(30_000);
    clock.pass(20_000);
    const answers = [Promise.withResolvers<string>(), Promise.withResolvers<string>()] as const;
    const asked = answers.map(({ promise }) => patience.whileAsking(() => promise));
    const late = patience.deadline(5_000);
    clock.pass(3_600_000);
    answers[0].resolve('secret');
    await asked[0];
    clock.pass(3_600_000);
    expect([early.signal.aborted, late.signal.aborted]).toEqual([false, false]);
    answers[1].reject(new Error('gone'));
    await expect(asked[1]).rejects.toThrow('gone');
    clock.pass(6_000);
    expect([early.signal.aborted, late.signal.aborted]).toEqual([false, true]);
    clock.pass(5_000);
    expect(early.signal.aborted).toBe(true);
  });

  it('that was ended is never over', () => {
    const clock = new TestClock();
    const deadline = new Patience(clock).deadline(1_000);
    deadline.end();
    clock.pass(60_000);
    expect(deadline.signal.aborted).toBe(false);
  });
});
