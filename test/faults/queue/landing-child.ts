/**
 * Runs a merge queue in a process of its own, until nothing is left to do or a fault ends it: alone, as a sidecar that
 * crashes, or with every git that runs, as a machine that goes down.
 */
import type { LandingStep } from '../../../sidecar/queue/context.ts';
import { KeptChildren } from '../../support/kept-children.ts';
import { openQueue } from '../../support/open-queue.ts';

export interface LandingChildOrder {
  home: string;
  environment: Record<string, string>;
  /** Sessions to land, one after the other. */
  land: { session: string; check?: string; method?: 'merge' | 'squash' | 'rebase'; to: 'local' | 'remote' }[];
  /** Undefined: runs to its end. */
  dieAt: LandingStep | undefined;
  /** At which passing of the step, from 1. */
  time: number;
  how: 'alone' | 'with-gits';
}

const order: LandingChildOrder = JSON.parse(process.argv[2] ?? '{}');
const children = new KeptChildren();
let passed = 0;
const open = openQueue({
  home: order.home,
  environment: order.environment,
  children,
  step(name) {
    if (name !== order.dieAt) return;
    passed += 1;
    if (passed !== order.time) return;
    if (order.how === 'with-gits') children.kill();
    process.kill(process.pid, 'SIGKILL');
  },
});
open.queue.tick();
for (const request of order.land) await open.queue.land({ withLocalCommits: false, ...request });
while (open.queue.isBusy) await new Promise((resolve) => setTimeout(resolve, 5));
await open.close();
