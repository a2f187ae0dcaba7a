import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { COMMANDS, perform, registerCommands, type SessionCommandId } from '../../../extension/commands.ts';
import type { Context } from '../../../extension/context.ts';
import { LastUsed } from '../../../extension/fleet/last-used.ts';
import { NeedsInHand } from '../../../extension/fleet/needs-in-hand.ts';
import { FakeWindow } from '../../support/fake-window.ts';
import { part } from '../../support/part.ts';
import { workspace } from '../../support/vscode.ts';
import { sessionOf } from './support/sessions.ts';

const window = new FakeWindow();
const session = sessionOf({
  id: 's1',
  title: 'Fix it',
  turns: 1,
  state: 'working',
  facts: { agent: 'working', landing: 'none', life: 'active' },
});

const fail = (error: unknown) => {
  throw error;
};

/** A context whose sidecar takes a second for everything. */
function contextOf(answers: Readonly<Record<string, unknown>> = {}) {
  const asked: string[] = [];
  const slowly = async (name: string, answer: unknown) => {
    asked.push(name);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    return answer;
  };
  const context = part<Context>({
    connection: {
      start: () => slowly('start', {}),
      restart: () => slowly('restart', undefined),
      logFile: () => slowly('logFile', '/nowhere'),
      request: (name: string) => slowly(name, answers[name] ?? {}),
    },
    fleet: { isLoaded: true, get: () => session, sessions: [session], load: () => slowly('load', undefined) },
    terminals: { show: () => {}, close: () => {} },
    lastUsed: new LastUsed(),
    needsInHand: new NeedsInHand(),
    documents: { made: () => 'a conversation' },
    repositories: { all: [session.repo], isKnown: true, findAgain: async () => {} },
  });
  return { context, asked };
}

beforeEach(() => {
  // Made of what the sidecar is asked for.
  workspace.openTextDocument = () => new Promise((resolve) => setTimeout(resolve, 1_000));
  vi.useFakeTimers();
  window.progress.length = 0;
  window.said.length = 0;
  window.cancels = () => false;
});
afterEach(() => void vi.useRealTimers());

/** Lets a command take its time. */
async function took(run: Promise<unknown>): Promise<void> {
  await Promise.all([run, vi.advanceTimersByTimeAsync(20_000)]);
}

describe('what takes long is shown', () => {
  it.each<[SessionCommandId, string, boolean]>([
    // What only reads is left.
    ['fairlead.land', 'Looking at what there is to land', true],
    ['fairlead.answer', 'Reading what is asked', true],
    ['fairlead.showConversation', 'Reading the conversation', true],
    // Keys are pressed, and signals sent, at once.
    ['fairlead.interrupt', 'Interrupting the turn', false],
    ['fairlead.stop', 'Stopping the agent', false],
    ['fairlead.resume', 'Starting the agent', false],
    ['fairlead.unqueue', 'Taking the session out of the queue', false],
    ['fairlead.deny', 'Giving the answer', false],
    // Until the agent is ended, the sidecar takes it back.
    ['fairlead.archive', 'Archiving the session', true],
  ])('by %s, with a Cancel where that can do something', async (id, title, isCancellable) => {
    const { context } = contextOf({ UnsentPrompts: { prompts: [] } });
    // Where Cancel can do something, it is pressed: nothing follows.
    window.cancels = () => id !== 'fairlead.archive';
    await took(perform(context, id, session, () => {}));
    expect(window.progress).toEqual([{ title, isCancellable }]);
  });

  it('by every other command that waits for the sidecar', async () => {
    const { context } = contextOf({ ShowNeed: { reason: null, need: null } });
    registerCommands(context, fail);
    for (const [id, title] of [
      ['fairlead.newSession', 'Connecting to the sidecar'],
      ['fairlead.newSessionFromEditor', 'Connecting to the sidecar'],
      ['fairlead.retry', 'Connecting to the sidecar'],
      ['fairlead.refresh', 'Connecting to the sidecar'],
      ['fairlead.showSidecarLog', 'Looking for the log of the sidecar'],
      ['fairlead.doctor', 'Looking at what Fairlead needs'],
      ['fairlead.answer', 'Connecting to the sidecar'],
      ['fairlead.copyBranch', 'Connecting to the sidecar'],
    ] as const) {
      window.progress.length = 0;
      window.cancels = () => true;
      const told = window.run(id, 's1').catch(() => {});
      await took(told);
      expect([id, window.progress[0]]).toEqual([id, { title, isCancellable: true }]);
      // Nobody waits any more, and nothing follows.
      expect(window.progress).toHaveLength(1);
    }
  });
});

it('Restart Sidecar says so once it was restarted, and has no Cancel: nothing takes it back', async () => {
  const { context } = contextOf();
  registerCommands(context, fail);
  window.cancels = () => true;
  const restarting = window.run('fairlead.restartSidecar');
  await vi.advanceTimersByTimeAsync(500);
  expect(window.progress).toEqual([{ title: 'Restarting the sidecar', isCancellable: false }]);
  expect(window.said).toEqual([]);
  await took(restarting);
  expect(window.said).toEqual(['$(check) The sidecar was restarted']);
});

it('Interrupt says so where there is nothing to interrupt, and presses no key', async () => {
  const { context, asked } = contextOf();
  const idle = sessionOf({ id: 's1', title: 'Fix it' });
  await took(perform(context, 'fairlead.interrupt', idle, fail));
  expect(window.said).toEqual(['Nothing to interrupt: "Fix it" is idle.']);
  expect(asked).toEqual([]);
  expect(COMMANDS['fairlead.interrupt'].fits(idle)).toBe(false);
});
