/**
 * Runs a merge queue in a process of its own that does what it is told, one JSON object a line on its input, and
 * answers each on its output. It is killed from outside, or kills itself at a step.
 */
import { createInterface } from 'node:readline';
import { FairleadError, messageOf } from '../../../sidecar/protocol/errors.ts';
import type { LandingStep } from '../../../sidecar/queue/context.ts';
import { KeptChildren } from '../../support/kept-children.ts';
import { openQueue } from '../../support/open-queue.ts';
import { type Manner, ScriptedAuthor } from '../../support/scripted-author.ts';
import { TestClock } from '../../support/test-clock.ts';

export interface ScheduleChildOrder {
  home: string;
  environment: Record<string, string>;
  inTurn: string[];
}

export type Command =
  | {
      do: 'land';
      session: string;
      to: 'local' | 'remote';
      method: 'merge' | 'squash' | 'rebase';
      check: string | null;
    }
  | { do: 'cancel'; session: string }
  | { do: 'turn'; session: string; begins: boolean }
  | { do: 'pass'; ms: number }
  | { do: 'jump'; ms: number }
  | { do: 'tick' }
  | { do: 'die-at'; step: LandingStep /** With every git that is kept open. */; withGits: boolean }
  /** The agent of a session takes the prompt that waits for it, if one does. */
  | { do: 'answer'; session: string; how: Manner }
  | { do: 'open' };

/** What became of a command: how many entries are open, or the code of the error. */
export type Answer = { open: number } | { error: string };

const order: ScheduleChildOrder = JSON.parse(process.argv[2] ?? '{}');
const clock = new TestClock();
const children = new KeptChildren();
let death: Extract<Command, { do: 'die-at' }> | undefined;
const open = openQueue({
  ...order,
  clock,
  children,
  step(name) {
    if (name !== death?.step) return;
    if (death.withGits) children.kill();
    process.kill(process.pid, 'SIGKILL');
  },
});
for (const session of order.inTurn) open.inTurn.add(session);

async function run(command: Command): Promise<void> {
  switch (command.do) {
    case 'land': {
      const { session, to, method, check } = command;
      await open.queue.land({
        session,
        to,
        method,
        withLocalCommits: true,
        ...(check === null ? {} : { check }),
      });
      return;
    }
    case 'cancel':
      await open.queue.remove(command.session);
      return;
    case 'turn':
      if (command.begins) open.inTurn.add(command.session);
      else open.inTurn.delete(command.session);
      return open.queue.tick();
    case 'pass':
      return clock.pass(command.ms);
    case 'jump':
      return clock.jump(command.ms);
    case 'tick':
      return open.queue.tick();
    case 'die-at':
      death = command;
      return;
    case 'answer': {
      const { worktree } = open.table.get(command.session);
      const place = { session: command.session, worktree, environment: order.environment };
      return new ScriptedAuthor(open, place).act(command.how);
    }
    case 'open':
      return;
  }
}

open.queue.tick();
for await (const line of createInterface({ input: process.stdin })) {
  const command: Command = JSON.parse(line);
  let answer: Answer;
  try {
    await run(command);
    answer = { open: open.entries.open().length };
  } catch (error) {
    answer = { error: error instanceof FairleadError ? error.code : messageOf(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await open.close();
