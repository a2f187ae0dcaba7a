import { beforeEach, describe, expect, it } from 'vitest';
import { chooseSession } from '../../../extension/fleet/choose-session.ts';
import { LastUsed } from '../../../extension/fleet/last-used.ts';
import { window } from '../../support/vscode.ts';
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
    expect((await chooseSession({ fleet, lastUsed, repositories }, { title, fits }))?.id).toBe('two');
    expect(
      (await chooseSession({ fleet, lastUsed, repositories }, { title, fits: ({ id }) => id === 'one' }))?.id,
    ).toBe('one');
    expect(offered).toEqual([]);
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
      await chooseSession({ fleet, lastUsed, repositories }, { title, fits, isGrave: true });
    }
    await chooseSession(
      { fleet: fleetOf([one]).fleet, lastUsed, repositories },
      { title, fits, isGrave: true },
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
