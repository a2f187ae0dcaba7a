import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';
import { Needs } from '../../../extension/fleet/needs.ts';
import { NeedsInHand } from '../../../extension/fleet/needs-in-hand.ts';
import { window } from '../../support/vscode.ts';
import { fleetOf } from './support/fleet.ts';
import { sessionOf } from './support/sessions.ts';

const idle = sessionOf({ id: 'one', title: 'Mend it' });
const asking = sessionOf({
  id: 'one',
  title: 'Mend it',
  state: 'needs-you',
  need: 1,
  reason: { kind: 'question', message: 'Which?' },
});

let told: string[];
let needs: Needs;
/** What was done with a notification, and with which session. */
let done: string[];
/** Presses a button of the notification that stands; undefined before there is one. */
let press: ((button: string) => void) | undefined;
beforeEach(() => {
  vi.useFakeTimers();
  told = [];
  done = [];
  press = undefined;
  window.showWarningMessage = (text: string) => {
    told.push(text);
    return new Promise((resolve) => {
      press = resolve;
    });
  };
});
afterEach(() => {
  needs.dispose();
  vi.useRealTimers();
});

/** A window of which the sidecar says `now`, and in which the person has taken up `inHand`. */
function scene({ now, inHand = new NeedsInHand() }: { now: () => number | null; inHand?: NeedsInHand }) {
  const { fleet, tell } = fleetOf([idle]);
  needs = new Needs(fleet, {
    mayBeOnScreen: () => false,
    typedAt: () => 0,
    onDidLook: () => new vscode.Disposable(() => {}),
    isInHand: (session, need) => inHand.has(session, need),
    readNeed: async () => now(),
    isOfWindow: () => true,
    isLanded: () => false,
    answer() {},
    showAlreadyAnswered: ({ id }) => void done.push(`told of ${id}`),
    open: (id) => void done.push(`opened ${id}`),
    land() {},
    prompt() {},
  });
  return tell;
}

const settle = () => vi.advanceTimersByTimeAsync(5_000);

describe('a notification of a need', () => {
  it('comes while it is asked, once', async () => {
    const tell = scene({ now: () => 1 });
    tell(asking);
    await settle();
    tell({ ...asking, turns: 1 });
    await settle();
    expect(told).toEqual(['Mend it: Which?']);
  });

  it('does not come when the sidecar knows that it was answered, though the window does not yet', async () => {
    let now: number | null = null;
    const tell = scene({ now: () => now });
    tell(asking);
    await settle();
    expect(told).toEqual([]);
    // What is asked next is another need.
    now = 2;
    tell({ ...asking, need: 2 });
    await settle();
    expect(told).toHaveLength(1);
  });

  it('does not come when the person answers it in this window already', async () => {
    const inHand = new NeedsInHand();
    const tell = scene({ now: () => 1, inHand });
    tell(asking);
    inHand.take('one', 1);
    await settle();
    expect(told).toEqual([]);
  });

  it.each([
    ['opens the terminal though it was answered since', idle, 'opened one'],
    [
      'says so where the session was archived since',
      sessionOf({ id: 'one', state: 'archived' }),
      'told of one',
    ],
  ])('%s', async (_what, since, comesOf) => {
    const tell = scene({ now: () => 1 });
    tell(asking);
    await settle();
    tell(since);
    press?.('Open Terminal');
    await settle();
    expect(done).toEqual([comesOf]);
  });
});
