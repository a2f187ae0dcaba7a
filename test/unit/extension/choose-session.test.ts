import { beforeEach, describe, expect, it } from 'vitest';
import { chooseSession } from '../../../extension/fleet/choose-session.ts';
import { LastUsed } from '../../../extension/fleet/last-used.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { commands, window } from '../../support/vscode.ts';
import { fleetOf } from './support/fleet.ts';
import { sessionOf } from './support/sessions.ts';

const one = sessionOf({ id: 'one', createdAt: 2 });
const two = sessionOf({ id: 'two', createdAt: 1 });
const fits = () => true;
const title = 'Answer';
const repositories = { all: ['/repo'] };

/** What each question offered, in its order; each is answered with the last. */
let offered: string[][];
beforeEach(() => {
  offered = [];
  window.showInformationMessage = async () => undefined;
  window.showQuickPick = async (items: readonly { label: string }[]) => {
    offered.push(items.map(({ label }) => label));
    return items.at(-1);
  };
});

describe('the session that a command means', () => {
  it('is the one that was used last, if it fits', async () => {
    const lastUsed = new LastUsed();
    const { fleet } = fleetOf([one, two]);
    lastUsed.use('two');
    for (const choice of [
      { title, fits },
      { title, fits, asksWhich: 'unless-used' as const },
    ]) {
      expect((await chooseSession({ fleet, lastUsed, repositories }, choice))?.id).toBe('two');
    }
    expect(offered).toEqual([]);
  });

  it('is never another than the one that was used last without asking, which says why', async () => {
    const hints: unknown[] = [];
    window.showQuickPick = async (
      items: readonly { label: string }[],
      { placeHolder }: { placeHolder: string },
    ) => {
      offered.push(items.map(({ label }) => label));
      hints.push(placeHolder);
      return undefined;
    };
    const lastUsed = new LastUsed();
    const { fleet } = fleetOf([one, { ...two, state: 'queued', queue: 'q1' }]);
    lastUsed.use('two');
    const choice = { title, fits: ({ queue }: Session) => queue === null };
    expect(await chooseSession({ fleet, lastUsed, repositories }, choice)).toBeUndefined();
    expect(offered).toEqual([['Session one']]);
    expect(hints).toEqual(['"Session two" is queued. Which session instead?']);
    await chooseSession({ fleet, lastUsed, repositories }, { ...choice, unfit: () => 'It is away.' });
    expect(hints.at(-1)).toBe('It is away. Which session instead?');
  });

  it('is a new one where there is none yet', async () => {
    const ran: unknown[] = [];
    commands.executeCommand = async (name: string) => void ran.push(name);
    window.showInformationMessage = async (_text: string, ...actions: string[]) => actions[0];
    const { fleet } = fleetOf([]);
    expect(
      await chooseSession({ fleet, lastUsed: new LastUsed(), repositories }, { title, fits }),
    ).toBeUndefined();
    expect(ran).toEqual(['fairlead.newSession']);
  });

  it('is the only one that fits where none was used, or is there any more', async () => {
    const lastUsed = new LastUsed();
    const { fleet } = fleetOf([one, two]);
    const choice = { title, fits: ({ id }: Session) => id === 'one' };
    for (const used of [undefined, 'archived']) {
      lastUsed.use(used);
      expect((await chooseSession({ fleet, lastUsed, repositories }, choice))?.id).toBe('one');
    }
    expect(offered).toEqual([]);
  });

  it('is asked for unless it was used, or is the only one at all, where the command says so', async () => {
    const lastUsed = new LastUsed();
    const choice = { title, fits: ({ id }: Session) => id === 'one', asksWhich: 'unless-used' } as const;
    await chooseSession({ fleet: fleetOf([one, two]).fleet, lastUsed, repositories }, choice);
    expect(offered).toEqual([['Session one']]);
    const { fleet } = fleetOf([one]);
    expect((await chooseSession({ fleet, lastUsed, repositories }, choice))?.id).toBe('one');
    expect(offered).toHaveLength(1);
  });

  it('is asked for when none was used, and when the last terminal was of no session', async () => {
    const lastUsed = new LastUsed();
    const { fleet } = fleetOf([one, two]);
    lastUsed.use('one');
    lastUsed.use(undefined);
    await chooseSession({ fleet, lastUsed, repositories }, { title, fits });
    expect(offered).toHaveLength(1);
  });

  it('is always asked for where the wrong one hurts, the one that was used last first', async () => {
    const lastUsed = new LastUsed();
    const { fleet } = fleetOf([one, two]);
    for (const used of ['one', 'two']) {
      lastUsed.use(used);
      await chooseSession({ fleet, lastUsed, repositories }, { title, fits, asksWhich: 'always' });
    }
    await chooseSession(
      { fleet: fleetOf([one]).fleet, lastUsed, repositories },
      { title, fits, asksWhich: 'always' },
    );
    expect(offered).toEqual([
      ['Session one', 'Session two'],
      ['Session two', 'Session one'],
      ['Session one'],
    ]);
  });

  it('is asked for where it is of another repository than those of the window, though it is the only one', async () => {
    const lastUsed = new LastUsed();
    const { fleet } = fleetOf([sessionOf({ id: 'far', repo: '/work/other' })]);
    for (const used of [undefined, 'far']) {
      lastUsed.use(used);
      await chooseSession({ fleet, lastUsed, repositories }, { title, fits });
    }
    expect(offered).toEqual([
      ['other', 'Session far'],
      ['other', 'Session far'],
    ]);
  });

  it('is asked for by the name of the command, with the repositories of the window first', async () => {
    const shown: object[] = [];
    window.showQuickPick = async (items: readonly object[], options: object) => {
      shown.push(options, ...items);
      return undefined;
    };
    const far = sessionOf({ id: 'far', repo: '/work/other', createdAt: 3, state: 'needs-you', need: 1 });
    const { fleet } = fleetOf([far, one, two]);
    await chooseSession({ fleet, lastUsed: new LastUsed(), repositories }, { title, fits });
    expect(shown).toMatchObject([
      { title: 'Answer' },
      { label: 'repo', kind: -1 },
      { label: 'Session one', description: 'idle · repo' },
      { label: 'Session two' },
      { label: 'other', kind: -1 },
      { label: 'Session far' },
    ]);
  });

  it('is none where none fits, which is said in the words of the command', async () => {
    const said: string[] = [];
    window.showInformationMessage = async (text: string) => void said.push(text);
    const { fleet } = fleetOf([one]);
    const choice = { title, fits: () => false, none: 'No agent works.' };
    expect(await chooseSession({ fleet, lastUsed: new LastUsed(), repositories }, choice)).toBeUndefined();
    expect(said).toEqual(['No agent works.']);
  });
});
