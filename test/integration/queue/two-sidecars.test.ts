import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { demoWith, TestQueue } from '../../support/queue.ts';

describe('two sidecars on one repository', () => {
  it.each(['local', 'remote'] as const)('land (%s) at the same time without losing anything', async (to) => {
    const demo = demoWith();
    const target = to === 'remote' ? demo.withRemote() : demo;
    const queues = ['a', 'b'].map((home) => TestQueue.open(demo, { home: join(demo.root, home) }));
    const landings = queues.flatMap((queue, at) =>
      ['x', 'y'].map((name) => ({
        queue,
        session: queue.session(`${at}${name}`, { files: { [`${at}${name}`]: '1\n' } }),
      })),
    );
    await Promise.all(landings.map(({ queue, session }) => queue.land(session, { to })));
    await Promise.all(
      landings.map(async ({ queue, session }) => {
        // What one cannot do while the other is at it, it does later.
        const retry = setInterval(() => queue.clock.pass(20_000), 500);
        await queue.until(session, 'landed').finally(() => clearInterval(retry));
      }),
    );
    expect(target.git('ls-tree', '--name-only', 'main').split('\n')).toEqual([
      '0x',
      '0y',
      '1x',
      '1y',
      'README.md',
    ]);
    expect(target.log('main')).toHaveLength(5);
    expect(demo.status()).toBe('');
    for (const queue of queues) expect(queue.leftovers()).toEqual([]);
  });
});
