import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';
import { land } from '../../../extension/actions/land.ts';
import { ExtensionError } from '../../../extension/connection/failure.ts';
import { Landings } from '../../../extension/fleet/landings.ts';
import { Needs } from '../../../extension/fleet/needs.ts';
import { EntryState } from '../../../sidecar/protocol/entry.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { entryStateWords } from '../../../sidecar/protocol/wording.ts';
import { commands, window } from '../../support/vscode.ts';
import { fleetOf } from './support/fleet.ts';
import { sessionOf } from './support/sessions.ts';

const session = sessionOf({ id: 'one', title: 'Say more' });
const queued = {
  id: 'q1',
  session: 'one',
  base: 'main',
  remote: null,
  state: 'queued',
  position: 1,
  message: null,
  paths: [] as string[],
  landed: null as string | null,
  reason: null as string | null,
  changedAt: 1,
};
const plain = {
  target: 'local',
  base: 'main',
  remote: 'origin',
  uncommitted: [] as string[],
  policy: null,
  localOnly: 0,
  ahead: 1,
  configured: null,
  mayLand: true as boolean | undefined,
};

let told: string[];
let asked: string[];
/** What the buttons of each warning and error are. */
let offered: string[][];
/** The button that is pressed. */
let pressed: string | undefined;
/** Commands that were run, with what for. */
let ran: unknown[][];
let progress: string[];
let cancel: () => void;

/** A window with a queue that holds one entry, and the notifications of the window. */
function scene(
  preview: object,
  options: { asksWhereTo?: boolean } = {},
  {
    answer = {},
    unqueue = () => queued,
    of = session,
  }: { answer?: object; unqueue?: () => unknown; of?: Session } = {},
) {
  const requests: string[] = [];
  let tellEntry: (entry: object) => void = () => {};
  let entry: object = { ...queued, ...answer };
  const { fleet, tell } = fleetOf([session]);
  const landings = new Landings();
  const answers: Record<string, () => unknown> = {
    LandPreview: () => {
      if (preview instanceof Error) throw preview;
      return { ...plain, ...preview };
    },
    Land: () => entry,
    ListQueue: () => [entry],
    Unqueue: unqueue,
  };
  const needs = new Needs(fleet, {
    mayBeOnScreen: () => false,
    typedAt: () => 0,
    onDidLook: () => new vscode.Disposable(() => {}),
    isInHand: () => false,
    readNeed: async () => undefined,
    isOfWindow: () => true,
    isLanded: (id) => landings.isFollowed(id),
    answer() {},
    showAlreadyAnswered() {},
    open() {},
    land() {},
    prompt() {},
  });
  const request = async (name: string): Promise<never> => {
    requests.push(name);
    return answers[name]?.() as never;
  };
  const landing = land(
    {
      fleet,
      landings,
      connection: {
        request,
        requestIfConnected: request,
        on: (_name: string, listener: (news: never) => void) => {
          tellEntry = listener as (entry: object) => void;
          return new vscode.Disposable(() => {});
        },
      },
    },
    of,
    options,
  );
  return {
    landing,
    requests,
    needs,
    tell: (change: Partial<Session>, id = 'one') => tell({ ...session, ...change, id }),
    entry: (change: object) => {
      entry = { ...queued, ...change };
      tellEntry(entry);
    },
  };
}

beforeEach(() => {
  vi.useFakeTimers();
  told = [];
  asked = [];
  offered = [];
  pressed = undefined;
  ran = [];
  progress = [];
  const warn = async (text: string, ...buttons: string[]) => {
    told.push(text);
    offered.push(buttons);
    return pressed;
  };
  Object.assign(window, { showWarningMessage: warn, showErrorMessage: warn });
  Object.assign(commands, { executeCommand: async (...args: unknown[]) => void ran.push(args) });
  window.showInformationMessage = async (text: string, options?: { modal?: boolean }) => {
    (options?.modal === true ? asked : told).push(text);
    return 'Commit and Land';
  };
  window.withProgress = (_options: object, run: (progress: object, token: object) => unknown) =>
    run(
      { report: ({ message }: { message: string }) => void progress.push(message) },
      {
        onCancellationRequested(listener: () => void) {
          cancel = listener;
        },
      },
    );
});
afterEach(() => vi.useRealTimers());

const settle = () => vi.advanceTimersByTimeAsync(5_000);

describe('a landing that needs the person', () => {
  const conflict = { state: 'needs-you', need: 1, reason: { kind: 'conflict', message: 'a.txt' } } as const;

  it.each(['the entry', 'the session'])('is told once, whichever is heard of first: %s', async (first) => {
    const { landing, needs, tell, entry } = scene({});
    await vi.advanceTimersByTimeAsync(0);
    if (first === 'the session') tell(conflict);
    entry({ state: 'failed', message: 'It conflicts.', paths: ['a.txt'] });
    await landing;
    if (first === 'the entry') tell(conflict);
    await settle();
    expect(told).toEqual(['Did not land: "Say more". It conflicts. (a.txt)']);
    needs.dispose();
  });

  it('is told of as ever when nobody follows it', async () => {
    const { landing, needs, tell, entry } = scene({});
    await vi.advanceTimersByTimeAsync(0);
    entry({ state: 'landed', landed: 'abc' });
    await landing;
    await settle();
    told = [];
    tell(conflict);
    await settle();
    expect(told).toEqual(['Say more: a.txt']);
    needs.dispose();
  });

  it('goes on while its agent asks something else, which is told as any need', async () => {
    const { landing, needs, tell, entry } = scene({});
    await vi.advanceTimersByTimeAsync(0);
    tell({ state: 'needs-you', need: 1, reason: { kind: 'permission', message: 'May I?' } });
    entry({ state: 'waiting', message: 'in a turn' });
    await settle();
    expect(told).toEqual(['Say more: May I?']);
    entry({ state: 'landed', landed: 'abc' });
    await landing;
    needs.dispose();
  });
});

describe('a landing that is handed back', () => {
  const message = 'It conflicts with main in a.txt; its agent was interrupted.';
  const handedBack = { state: 'handed-back', reason: 'conflict', message, paths: ['a.txt'] };
  const needed = { state: 'needs-you', need: 1, queue: 'q1', reason: { kind: 'conflict', message } } as const;

  it.each(['the entry', 'the session'])(
    'is told once as it comes to need the person, after %s',
    async (last) => {
      const { landing, needs, tell, entry } = scene({});
      await vi.advanceTimersByTimeAsync(0);
      entry({ ...handedBack, message: 'Its agent resolves that.' });
      await settle();
      expect(told).toEqual([]);
      if (last === 'the entry') tell(needed);
      entry(handedBack);
      if (last === 'the session') tell(needed);
      await landing;
      await settle();
      expect(told).toEqual([`Needs you to land: "Say more". ${message}`]);
      expect(offered).toEqual([['Land Again', 'Send Prompt…', 'Open Terminal']]);
      needs.dispose();
    },
  );

  it.each([
    ['Land Again', 'fairlead.land'],
    ['Send Prompt…', 'fairlead.sendPrompt'],
    ['Open Terminal', 'fairlead.openTerminal'],
  ])('goes on by %s', async (button, command) => {
    pressed = button;
    const { landing, needs, tell, entry } = scene({});
    await vi.advanceTimersByTimeAsync(0);
    tell(needed);
    entry(handedBack);
    await landing;
    await settle();
    expect(ran).toEqual([[command, 'one']]);
    needs.dispose();
  });

  it('goes on while its agent asks something else', async () => {
    const { landing, needs, tell, entry } = scene({});
    await vi.advanceTimersByTimeAsync(0);
    entry(handedBack);
    tell({ ...needed, reason: { kind: 'permission', message: 'May I?' } });
    await settle();
    expect(told).toEqual(['Say more: May I?']);
    entry({ state: 'landed', landed: 'abc' });
    await landing;
    needs.dispose();
  });
});

describe('a landing that waits', () => {
  const waiting = { state: 'waiting', reason: 'folder-in-the-way', message: 'a.txt is in the way.' };

  it('for a file that only the person can take away ends with a way out, though its session needs nothing', async () => {
    const { landing, needs, tell, entry } = scene({});
    await vi.advanceTimersByTimeAsync(0);
    tell({ state: 'queued', queue: 'q1' });
    entry({ ...waiting, paths: ['a.txt', 'b.txt'] });
    await landing;
    expect(told).toEqual(['Needs you to land: "Say more". a.txt is in the way. (b.txt)']);
    expect(offered).toEqual([['Land Again', 'Open Terminal']]);
    needs.dispose();
  });

  it('is not what it was once it is landed again', async () => {
    const { landing, needs, entry } = scene({}, {}, { answer: waiting });
    await settle();
    expect(told).toEqual([]);
    entry({ ...waiting, changedAt: 2 });
    await landing;
    expect(told).toHaveLength(1);
    needs.dispose();
  });
});

describe('the progress of a landing', () => {
  it('is told in the words that an entry has everywhere', async () => {
    const { landing, needs, entry } = scene({});
    await vi.advanceTimersByTimeAsync(0);
    progress = [];
    for (const state of EntryState.options) entry({ state });
    await landing;
    expect(progress).toEqual(EntryState.options.map(entryStateWords));
    needs.dispose();
  });

  it('that cannot be cancelled says so, and what becomes of it', async () => {
    const fail = () => {
      throw new ExtensionError('daemon.lost', 'The connection was lost.', { hint: 'Connect again.' });
    };
    pressed = 'Try Again';
    const { landing, needs, entry } = scene({}, {}, { unqueue: fail });
    await vi.advanceTimersByTimeAsync(0);
    cancel();
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual(['Still in the queue: "Say more". The connection was lost. Connect again.']);
    expect(ran).toEqual([['fairlead.unqueue', 'one']]);
    entry({ state: 'landed', landed: 'abc' });
    await landing;
    expect(told[1]).toMatch(/^Landed on main/);
    needs.dispose();
  });

  it('that is cancelled too late tells what it came to, and no more', async () => {
    const fail = () => {
      throw new ExtensionError('queue.not-queued', 'one is not in the queue.');
    };
    const { landing, needs, entry } = scene({}, {}, { unqueue: fail });
    await vi.advanceTimersByTimeAsync(0);
    cancel();
    entry({ state: 'landed', landed: 'abc' });
    await landing;
    await settle();
    expect(told).toEqual(['Landed on main as abc: "Say more".']);
    needs.dispose();
  });
});

describe('the queue', () => {
  it('is not read for what other sessions do', async () => {
    const { landing, needs, requests, tell, entry } = scene({});
    await vi.advanceTimersByTimeAsync(0);
    const before = requests.length;
    for (let n = 0; n < 20; n += 1) tell({ turns: n }, 'two');
    await vi.advanceTimersByTimeAsync(0);
    expect(requests.length).toBe(before);
    tell({ turns: 1 });
    await vi.advanceTimersByTimeAsync(0);
    expect(requests.slice(before)).toEqual(['ListQueue']);
    entry({ state: 'cancelled' });
    await landing;
    needs.dispose();
  });
});

describe('files that are not committed', () => {
  const uncommitted = ['a.txt', 'b.txt'];

  it('are asked about, unless the configuration says that they are committed', async () => {
    for (const [policy, questions] of [
      [null, 1],
      ['commit', 0],
    ] as const) {
      asked = [];
      const { landing, needs, requests, entry } = scene({ uncommitted, policy });
      await vi.advanceTimersByTimeAsync(0);
      entry({ state: 'cancelled' });
      await landing;
      expect([policy, asked.length, requests.includes('Land')]).toEqual([policy, questions, true]);
      needs.dispose();
    }
  });

  it.each([
    ['local', 'main'],
    ['remote', 'origin/main'],
  ])('are named with where they land, and what their commit is called: %s', async (target, where) => {
    const details: (string | undefined)[] = [];
    window.showInformationMessage = async (text: string, options?: { detail?: string }) => {
      asked.push(text);
      details.push(options?.detail);
      return undefined;
    };
    const { landing, needs, requests } = scene({ uncommitted: ['a.txt'], target });
    await landing;
    expect(asked).toEqual([
      `One file is not committed yet. Commit on ${session.branch} and land on ${where}?`,
    ]);
    expect(details).toEqual([
      'a.txt\n\nThe commit is called "Say more", carries your name and runs your hooks.',
    ]);
    expect(requests).toEqual(['LandPreview']);
    needs.dispose();
  });

  it('are refused at once where the configuration says so', async () => {
    window.showQuickPick = () => {
      throw new Error('nothing is asked');
    };
    const { landing, needs } = scene({ uncommitted, policy: 'refuse', target: null });
    await expect(landing).rejects.toMatchObject({ code: 'land.uncommitted', data: uncommitted });
    needs.dispose();
  });
});

describe('a session with nothing to land', () => {
  const nothing = new ExtensionError('land.nothing-to-land', 'There is nothing to land on main.');
  const landed = sessionOf({ ...session, facts: { ...session.facts, landing: 'landed' } });

  it.each([
    ['is offered what comes before', session, ['Send Prompt…', 'Open Terminal'], 'fairlead.sendPrompt'],
    [
      'is offered what comes after, once it has landed',
      landed,
      ['Open Changes', 'Archive'],
      'fairlead.openChanges',
    ],
  ] as const)('%s', async (_name, of, buttons, command) => {
    window.showInformationMessage = async (text: string, ...actions: string[]) => {
      told.push(text);
      offered.push(actions);
      return actions[0];
    };
    const { landing, needs } = scene(nothing, {}, { of });
    await landing;
    await settle();
    expect(told).toEqual(['There is nothing to land on main: "Say more".']);
    expect(offered).toEqual([buttons]);
    expect(ran).toEqual([[command, 'one']]);
    needs.dispose();
  });
});

describe('where a repository lands', () => {
  it('is said to be kept when it was answered', async () => {
    window.showQuickPick = async ([first]: readonly object[]) => first;
    const { landing, needs, requests, entry } = scene({ target: null }, {}, { answer: { kept: true } });
    await vi.advanceTimersByTimeAsync(0);
    entry({ state: 'cancelled' });
    await landing;
    expect(told[0]).toMatch(/^main lands on origin from now on: kept for this repository/);
    // Nothing stands between the landing and who follows it.
    expect(requests).toEqual(['LandPreview', 'Land', 'ListQueue']);
    needs.dispose();
  });

  it('is not said to be kept where the sidecar keeps nothing', async () => {
    window.showQuickPick = async ([first]: readonly object[]) => first;
    const { landing, needs, entry } = scene({ target: null });
    await vi.advanceTimersByTimeAsync(0);
    entry({ state: 'cancelled' });
    await landing;
    expect(told).toEqual(['Taken out of the queue: "Say more".']);
    needs.dispose();
  });

  it.each([true, undefined])('is asked for what has come to nothing yet and may: %s', async (mayLand) => {
    window.showQuickPick = async ([first]: readonly object[]) => {
      asked.push('where');
      return first;
    };
    const { landing, needs, requests, entry } = scene({ target: null, ahead: 0, mayLand });
    await vi.advanceTimersByTimeAsync(0);
    expect([asked, requests.includes('Land')]).toEqual([['where'], true]);
    entry({ state: 'cancelled' });
    await landing;
    needs.dispose();
  });

  it('is not asked for what comes to nothing', async () => {
    window.showQuickPick = () => {
      throw new Error('nothing is asked');
    };
    const { landing, needs, requests, entry } = scene({ target: null, ahead: 0, mayLand: false });
    await vi.advanceTimersByTimeAsync(0);
    expect(requests).toContain('Land');
    entry({ state: 'cancelled' });
    await landing;
    needs.dispose();
  });

  it('is asked again by Land To, with what is kept', async () => {
    const offered: object[] = [];
    window.showQuickPick = async (items: readonly object[]) => {
      offered.push(...items);
      return items[0];
    };
    const { landing, needs, entry } = scene(
      { target: 'local' },
      { asksWhereTo: true },
      { answer: { kept: true } },
    );
    await vi.advanceTimersByTimeAsync(0);
    entry({ state: 'cancelled' });
    await landing;
    expect(offered).toMatchObject([{ description: '' }, { description: 'as it is now' }]);
    expect(told[0]).toMatch(/^main lands on origin from now on/);
    needs.dispose();
  });
});
