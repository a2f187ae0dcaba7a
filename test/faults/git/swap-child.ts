/**
 * Runs one swap in a process of its own, which kills itself at a step: alone, as a sidecar that crashes, or with every
 * git it keeps open, as a machine that goes down.
 */
import { type Children, systemChildren } from '../../../sidecar/git/children.ts';
import { Git } from '../../../sidecar/git/git.ts';
import { openRepository } from '../../../sidecar/git/repository.ts';
import { swapBase } from '../../../sidecar/git/swap.ts';
import type { SwapStep } from '../../../sidecar/git/swap-together.ts';

export interface SwapChildOrder {
  folder: string;
  environment: Record<string, string>;
  branch: string;
  from: string;
  to: string;
  /** Undefined: runs to its end. */
  dieAt: SwapStep | undefined;
  how: 'alone' | 'with-gits';
}

const order: SwapChildOrder = JSON.parse(process.argv[2] ?? '{}');
const open = new Set<number>();
const children: Children = {
  run: systemChildren.run,
  open(command, args, options) {
    const dialogue = systemChildren.open(command, args, options);
    const { pid } = dialogue;
    if (pid !== undefined) {
      open.add(pid);
      void dialogue.ended.then(() => open.delete(pid));
    }
    return dialogue;
  },
};
const repository = await openRepository(
  order.folder,
  new Git(order.folder, { environment: order.environment, children }),
);
const outcome = await swapBase(
  repository,
  { branch: order.branch, from: order.from, to: order.to, message: 'land next' },
  (step) => {
    if (step !== order.dieAt) return;
    if (order.how === 'with-gits') for (const pid of open) process.kill(-pid, 'SIGKILL');
    process.kill(process.pid, 'SIGKILL');
  },
);
process.stdout.write(JSON.stringify(outcome));
