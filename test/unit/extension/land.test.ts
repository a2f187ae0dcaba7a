import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';
import { land } from '../../../extension/actions/land.ts';
import { Landings } from '../../../extension/fleet/landings.ts';
import { Needs } from '../../../extension/fleet/needs.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { window } from '../../support/vscode.ts';
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
  kept: null as string | null,
};

let told: string[];
let asked: string[];

/** A window with a queue that holds one entry, and the notifications of the window. */
function scene(preview: object, options: { asksWhereTo?: boolean } = {}) {
  const requests: string[] = [];
  let tellEntry: (entry: object) => void = () => {};
  let entry: object = queued;
  const { fleet, tell } = fleetOf([session]);
  const landings = new Landings();
  const answers: Record<string, () => unknown> = {
    LandPreview: () => ({ ...plain, kept, ...preview }),
    Land: () => queued,
    ListQueue: () => [entry],
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
  let kept: unknown = null;
  const request = async (name: string, params: object): Promise<never> => {
    requests.push(name);
    if (name === 'Land') kept = Reflect.get(params, 'to') ?? null;
    return answers[name]?.() as never;
  };
  const landing = land(
    {
      fleet,
      landings,
      terminals: { show() {} },
      connection: {
        request,
        requestIfConnected: request,
        on: (_name: string, listener: (news: never) => void) => {
          tellEntry = listener as (entry: object) => void;
          return new vscode.Disposable(() => {});
        },
      },
    },
    session,
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
  window.showWarningMessage = (text: string) => {
    told.push(text);
    return new Promise(() => {});
  };
  window.showInformationMessage = async (text: string, options?: { modal?: boolean }) => {
    (options?.modal === true ? asked : told).push(text);
    return 'Commit and Land';
  };
  window.withProgress = (_options: object, run: (progress: object, token: object) => unknown) =>
    run({ report() {} }, { onCancellationRequested() {} });
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

describe('where a repository lands', () => {
  it('is said to be kept when it was answered', async () => {
    window.showQuickPick = async ([first]: readonly object[]) => first;
    const { landing, needs, entry } = scene({ target: null });
    await vi.advanceTimersByTimeAsync(0);
    entry({ state: 'cancelled' });
    await landing;
    expect(told[0]).toMatch(/^main lands on origin from now on: kept for this repository/);
    needs.dispose();
  });

  it('is not said to be kept where the sidecar keeps nothing', async () => {
    window.showQuickPick = async ([first]: readonly object[]) => first;
    const { landing, needs, entry } = scene({ target: null, kept: null });
    await vi.advanceTimersByTimeAsync(0);
    entry({ state: 'cancelled' });
    await landing;
    expect(told).toEqual(['Taken out of the queue: "Say more".']);
    needs.dispose();
  });

  it('is not asked for what comes to nothing', async () => {
    window.showQuickPick = () => {
      throw new Error('nothing is asked');
    };
    const { landing, needs, requests, entry } = scene({ target: null, ahead: 0 });
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
    const { landing, needs, entry } = scene({ target: 'local' }, { asksWhereTo: true });
    await vi.advanceTimersByTimeAsync(0);
    entry({ state: 'cancelled' });
    await landing;
    expect(offered).toMatchObject([{ description: '' }, { description: 'as it is now' }]);
    expect(told[0]).toMatch(/^main lands on origin from now on/);
    needs.dispose();
  });
});
