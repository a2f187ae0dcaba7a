import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleChild } from '../../support/child-bundle.ts';
import { Schedule } from './schedule.ts';

/** More with `FAIRLEAD_FAULT_RUNS=1000`; one of them again with `FAIRLEAD_FAULT_SEED=<seed> FAIRLEAD_FAULT_RUNS=1`. */
const RUNS = Number(process.env.FAIRLEAD_FAULT_RUNS ?? 30);
const FIRST_SEED = Number(process.env.FAIRLEAD_FAULT_SEED ?? 1);
const STEPS = 10;

let child: Awaited<ReturnType<typeof bundleChild>>;
beforeAll(async () => {
  child = await bundleChild(join(import.meta.dirname, 'schedule-child.ts'));
});
afterAll(() => child.remove());

let landed = 0;
let resolved = 0;

it.each(Array.from({ length: RUNS }, (_, at) => FIRST_SEED + at))(
  'whatever happens in schedule %i, every invariant holds after every step',
  async (seed) => {
    const schedule = new Schedule(seed, child.file);
    try {
      const came = await schedule.run(STEPS);
      landed += came.landed;
      resolved += came.resolved;
    } finally {
      await schedule.dispose();
    }
  },
  120_000,
);

it('of such schedules many a session lands, also one whose agent has resolved a conflict', () => {
  expect(landed).toBeGreaterThan(RUNS / 2);
  expect(resolved).toBeGreaterThan(RUNS / 20);
});
