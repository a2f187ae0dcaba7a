/**
 * Runs a merge queue in a process of its own, with an agent that resolves what is handed back, until nothing is left to
 * do or a fault ends it.
 */
import { type OpenQueueOptions, openQueue, type QueueStep } from '../../support/open-queue.ts';
import { ScriptedAuthor } from '../../support/scripted-author.ts';

export interface HandBackChildOrder extends Pick<OpenQueueOptions, 'home' | 'environment'> {
  session: string;
  worktree: string;
  /** Undefined: runs to its end. */
  dieAt: QueueStep | undefined;
  /** Takes the session out of the queue at this step. */
  cancelAt?: QueueStep | undefined;
}

const order: HandBackChildOrder = JSON.parse(process.argv[2] ?? '{}');
const open = openQueue({
  ...order,
  step(name) {
    if (name === order.cancelAt) {
      const entry = open.entries.openOf(order.session);
      if (entry !== undefined) open.entries.cancel(entry.id);
    }
    if (name === order.dieAt) process.kill(process.pid, 'SIGKILL');
  },
});
const author = new ScriptedAuthor(open, order);
open.queue.tick();
if (open.entries.lastOf(order.session) === undefined) {
  await open.queue.land({ session: order.session, to: 'local', withLocalCommits: false });
}
while (open.queue.isBusy) {
  await new Promise((resolve) => setTimeout(resolve, 5));
  author.act();
}
await open.close();
