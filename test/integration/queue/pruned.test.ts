import { describe, expect, it } from 'vitest';
import type { LandingStep } from '../../../sidecar/queue/context.ts';
import { demoWith, TestQueue } from '../../support/queue.ts';

describe('git gc --prune=now in the middle of a landing', () => {
  it.each<LandingStep>(['merged', 'intended', 'swap-begun', 'swap-prepared'])(
    'after "%s" costs time and nothing else',
    async (at) => {
      const demo = demoWith({ a: '1\n' });
      const queue = TestQueue.open(demo);
      const session = queue.session('Edit', { files: { a: '2\n' } });
      let left = 2;
      queue.parts.step = (name) => {
        if (name !== at || left === 0) return;
        left -= 1;
        demo.git('gc', '--quiet', '--prune=now');
      };
      await queue.land(session);
      await expect
        .poll(
          () => {
            queue.clock.pass(60_000);
            return queue.entry(session).state;
          },
          { timeout: 20_000, interval: 100 },
        )
        .toBe('landed');
      expect([demo.show('main', 'a'), demo.read('a'), demo.status()]).toEqual(['2\n', '2\n', '']);
      expect(queue.leftovers()).toEqual([]);
    },
  );
});
