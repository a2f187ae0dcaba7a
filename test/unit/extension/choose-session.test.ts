import { beforeEach, describe, expect, it } from 'vitest';
import { chooseSession } from '../../../extension/fleet/choose-session.ts';
import { LastUsed } from '../../../extension/fleet/last-used.ts';
import { window } from '../../support/vscode.ts';
import { fleetOf } from './support/fleet.ts';
import { sessionOf } from './support/sessions.ts';

const one = sessionOf({ id: 'one', createdAt: 2 });
const two = sessionOf({ id: 'two', createdAt: 1 });
const fits = () => true;

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
    expect((await chooseSession({ fleet, lastUsed }, { fits }))?.id).toBe('two');
    expect((await chooseSession({ fleet, lastUsed }, { fits: ({ id }) => id === 'one' }))?.id).toBe('one');
    expect(offered).toEqual([]);
  });

  it('is asked for when none was used, and when the last terminal was of no session', async () => {
    const lastUsed = new LastUsed();
    const { fleet } = fleetOf([one, two]);
    lastUsed.use('one');
    lastUsed.use(undefined);
    await chooseSession({ fleet, lastUsed }, { fits });
    expect(offered).toHaveLength(1);
  });

  it('is always asked for where the wrong one hurts, the one that was used last first', async () => {
    const lastUsed = new LastUsed();
    const { fleet } = fleetOf([one, two]);
    for (const used of ['one', 'two']) {
      lastUsed.use(used);
      await chooseSession({ fleet, lastUsed }, { fits, isGrave: true });
    }
    await chooseSession({ fleet: fleetOf([one]).fleet, lastUsed }, { fits, isGrave: true });
    expect(offered).toEqual([
      ['Session one', 'Session two'],
      ['Session two', 'Session one'],
      ['Session one'],
    ]);
  });
});
