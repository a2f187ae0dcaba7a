import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ledger } from '../../../sidecar/cost/ledger.ts';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { Fleet } from '../../../sidecar/sessions/fleet.ts';
import type { SessionRecord } from '../../../sidecar/sessions/record.ts';
import { TerminalHost } from '../../../sidecar/sessions/terminal-host.ts';
import type { PtyHostClient } from '../../../sidecar/terminals/ptyhost-client.ts';
import { Attached } from '../../support/attached.ts';
import { prompt } from '../../support/model/story.ts';
import { PtyHostHarness, shell } from '../../support/ptyhost.ts';
import { TestClock } from '../../support/test-clock.ts';
import { World } from '../../support/world.ts';
import { SessionHome } from '../../unit/sessions/session-home.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const idle = "printf '\\033]7501;state=idle\\007'; exec sleep 1000";
const MINUTE = 60_000;

describe('an agent that has nothing to do', { timeout: 60_000 }, () => {
  let ptyhost: PtyHostHarness;
  let client: PtyHostClient;
  let home: SessionHome;
  let clock: TestClock;
  let fleet: Fleet;
  let agent: string;

  beforeEach(async () => {
    ptyhost = new PtyHostHarness();
    client = await ptyhost.client();
    agent = (await client.request('create', shell(idle))).terminal.id;
    clock = new TestClock();
  });
  afterEach(async () => {
    fleet.stop();
    home[Symbol.dispose]();
    await ptyhost.end();
  });

  async function start(fields: Partial<SessionRecord> = {}, config = ''): Promise<void> {
    home = new SessionHome({ terminal: agent, agent_fact: 'idle', ...fields });
    writeFileSync(join(home.folder, 'config.toml'), config);
    const terminals = new TerminalHost(() => ptyhost.client(), SILENT);
    fleet = new Fleet({ ...home.context, clock }, terminals, Ledger.open(home.store, pricesWith()), {
      queueEntry: () => null,
      lastLanding: () => null,
      changed: () => {},
    });
    const { known } = await fleet.start();
    await known;
  }

  /** Lets time go by, some at a time, until the agent sleeps or `minutes` are over; gives the minutes that it took. */
  async function untilAsleep(minutes: number): Promise<number> {
    let passed = 0;
    while (home.session.life !== 'sleeping' && passed < minutes * MINUTE) {
      clock.pass(MINUTE / 2);
      passed += MINUTE / 2;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    return passed / MINUTE;
  }

  const running = async () => {
    const { terminals } = await client.request('list', {});
    return terminals.filter(({ exited }) => exited === undefined).map(({ id }) => id);
  };

  it('sleeps after an hour, and a shell beside it goes on', async () => {
    const beside = (await client.request('create', shell('exec sleep 1000'))).terminal.id;
    await start({ shell: beside });
    const minutes = await untilAsleep(90);
    expect(minutes).toBeGreaterThanOrEqual(60);
    expect(minutes).toBeLessThan(80);
    await expect.poll(running).toEqual([beside]);
    expect(home.session).toMatchObject({ life: 'sleeping', agent_fact: 'idle', reason: null, shell: beside });
  });

  it('sleeps when the settings say, or never', async () => {
    await start({}, '[agent]\nsleepAfterMinutes = 5\n');
    expect(await untilAsleep(30)).toBeLessThan(20);
  });

  it('never sleeps when the settings say so', async () => {
    await start({}, '[agent]\nsleepAfterMinutes = 0\n');
    await untilAsleep(90);
    expect(home.session.life).toBe('active');
  });

  it('sleeps though another cannot be put to sleep, and the list was not to be had once', async () => {
    const other = (await client.request('create', shell(idle))).terminal.id;
    home = new SessionHome({ terminal: other, agent_fact: 'idle' });
    home.table.insert({ ...home.session, id: 'z', family: 'z', terminal: agent });
    const terminals = new TerminalHost(() => ptyhost.client(), SILENT);
    fleet = new Fleet({ ...home.context, clock }, terminals, Ledger.open(home.store, pricesWith()), {
      queueEntry: () => null,
      lastLanding: () => null,
      changed: () => {},
    });
    await (await fleet.start()).known;
    let failures = 0;
    const turnCount = home.table.turnCount.bind(home.table);
    home.table.turnCount = (id) => {
      if (id === 'z') return turnCount(id);
      failures += 1;
      throw new Error('No count.');
    };
    const list = home.table.list.bind(home.table);
    let isListed = false;
    home.table.list = (filter) => {
      if (isListed) return list(filter);
      isListed = true;
      throw new Error('No list.');
    };
    for (let half = 0; half < 180 && home.table.get('z').life !== 'sleeping'; half += 1) {
      clock.pass(MINUTE / 2);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    expect(home.table.get('z').life).toBe('sleeping');
    expect(isListed).toBe(true);
    expect(failures).toBeGreaterThan(0);
    expect(home.session.life).toBe('active');
  });

  it('stays awake while somebody is at its terminal, and sleeps an hour after', async () => {
    await start();
    const person = await ptyhost.attach(client, agent);
    await untilAsleep(90);
    expect(home.session.life).toBe('active');
    person.detach();
    expect(await untilAsleep(90)).toBeGreaterThanOrEqual(60);
    expect(home.session.life).toBe('sleeping');
  });

  it('sleeps as soon as nobody is at its terminal once its work has landed', async () => {
    await start({ agent_fact: 'finished', landing: 'landed' });
    const person = await ptyhost.attach(client, agent);
    await fleet.rest('s');
    expect(home.session.life).toBe('active');
    person.detach();
    expect(await untilAsleep(30)).toBeLessThan(5);
    await expect.poll(() => home.session).toMatchObject({ life: 'sleeping', terminal: null });
  });

  it('that landed while somebody was at its terminal, and was given more to do, sleeps after an hour', async () => {
    await start({ agent_fact: 'finished', landing: 'landed' });
    const person = await ptyhost.attach(client, agent);
    await fleet.rest('s');
    home.table.update('s', { landing: 'none' });
    person.detach();
    const minutes = await untilAsleep(120);
    expect(home.session.life).toBe('sleeping');
    expect(minutes).toBeGreaterThanOrEqual(60);
  });

  it.each(['none', 'landed'] as const)('stays awake with background tasks (landing: %s)', async (landing) => {
    await start({ landing });
    home.table.keepHookEvent(
      's',
      '0000000000000000001-1',
      JSON.stringify({
        name: '0000000000000000001-1',
        at: 0,
        event: 'Stop',
        agentSessionId: 'a',
        backgroundTasks: 1,
      }),
    );
    fleet.stop();
    const terminals = new TerminalHost(() => ptyhost.client(), SILENT);
    fleet = new Fleet({ ...home.context, clock }, terminals, Ledger.open(home.store, pricesWith()), {
      queueEntry: () => null,
      lastLanding: () => null,
      changed: () => {},
    });
    await (await fleet.start()).known;
    if (landing === 'landed') await fleet.rest('s');
    await untilAsleep(90);
    expect(home.session.life).toBe('active');
  });
});

describe('an agent that was put to sleep', { timeout: 180_000 }, () => {
  it('goes on with its conversation when it is prompted and when it is opened', async () => {
    await using world = await World.open();
    world.model.when(prompt('Say one')).says('One.');
    world.model.when(prompt('Say two')).says('Two.');
    await world.fairlead.json(['up']);
    writeFileSync(join(world.fairlead.home, 'config.toml'), '[agent]\nsleepAfterMinutes = 0.01\n');
    const asleep = (session: Session) => session.facts.life === 'sleeping';
    const { id } = await world.start('Say one');
    await world.finished(id);
    expect(await world.fairlead.until(id, asleep, 90_000)).toMatchObject({ state: 'finished', reason: null });
    expect(await world.json('send', id, 'Say two')).toMatchObject({ confirmed: true });
    await world.fairlead.until(id, ({ turns, outcome }) => turns === 2 && outcome === 'done', 45_000);
    expect(world.model.asked('Say two')[0]?.conversation?.prompts).toEqual(['Say one', 'Say two']);
    await world.fairlead.until(id, asleep, 90_000);
    await using attached = new Attached(world.fairlead, id);
    await attached.shows('Two.');
    expect((await world.fairlead.show(id)).facts.life).not.toBe('sleeping');
  });
});
