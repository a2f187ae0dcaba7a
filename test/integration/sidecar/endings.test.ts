import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ledger } from '../../../sidecar/cost/ledger.ts';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import { FairleadError } from '../../../sidecar/protocol/errors.ts';
import { Fleet } from '../../../sidecar/sessions/fleet.ts';
import { TerminalHost } from '../../../sidecar/sessions/terminal-host.ts';
import type { PtyHostClient } from '../../../sidecar/terminals/ptyhost-client.ts';
import { PtyHostHarness, shell } from '../../support/ptyhost.ts';
import { SessionHome } from '../../unit/sessions/session-home.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

describe('a session whose agent runs in a ptyhost that was not yet asked', () => {
  let ptyhost: PtyHostHarness;
  let client: PtyHostClient;
  let home: SessionHome;
  let agent: string;
  let fleet: Fleet;

  const fleetOver = (connect: () => Promise<PtyHostClient>) =>
    new Fleet(home.context, new TerminalHost(connect, SILENT), Ledger.open(home.store, pricesWith()), {
      queueEntry: () => null,
      lastLanding: () => null,
      changed: () => {},
    });
  const running = async () => {
    const { terminals } = await client.request('list', {});
    return terminals.filter(({ exited }) => exited === undefined).map(({ id }) => id);
  };

  beforeEach(async () => {
    ptyhost = new PtyHostHarness();
    client = await ptyhost.client();
    const { terminal } = await client.request('create', shell('exec sleep 1000'));
    agent = terminal.id;
    home = new SessionHome({ terminal: agent, agent_fact: 'working' });
    fleet = fleetOver(() => ptyhost.client());
  });
  afterEach(async () => {
    fleet.stop();
    home[Symbol.dispose]();
    await ptyhost.end();
  });

  it('keeps that agent when it is resumed', async () => {
    await fleet.resume('s');
    expect(home.session).toMatchObject({ terminal: agent, life: 'active' });
    expect(await running()).toEqual([agent]);
  });

  it('ends that agent when it is stopped', async () => {
    await fleet.stopSession('s');
    expect(home.session).toMatchObject({ terminal: null, life: 'sleeping' });
    expect(await running()).toEqual([]);
  });

  it('still needs the person for what keeps its work from landing, but for nothing that the agent asked', async () => {
    const demand = { kind: 'conflict', message: 'It conflicts.' } as const;
    home.table.update('s', { agent_fact: 'needs-you', reason: demand, demand, outcome: 'done' });
    await fleet.stopSession('s');
    expect(fleet.show('s')).toMatchObject({
      state: 'needs-you',
      reason: demand,
      facts: { life: 'sleeping' },
    });
    const asked = { kind: 'permission', message: 'Bash: ls' } as const;
    home.table.update('s', { life: 'active', reason: asked, demand: null, outcome: 'interrupted' });
    await fleet.stopSession('s');
    expect(fleet.show('s')).toMatchObject({ state: 'finished', reason: null, outcome: 'interrupted' });
  });

  it('keeps its terminal when no ptyhost can be asked', async () => {
    const lost = fleetOver(async () => {
      throw new FairleadError('ptyhost.lost', 'It does not answer.');
    });
    await expect(lost.stopSession('s')).rejects.toMatchObject({ code: 'ptyhost.lost' });
    expect(home.session).toMatchObject({ terminal: agent, life: 'active' });
    lost.stop();
  });

  it('has it ended at start when that was begun before', async () => {
    home.table.update('s', { life: 'sleeping', agent_fact: 'ended' });
    await fleet.start();
    await expect.poll(running).toEqual([]);
    await expect.poll(() => home.session).toMatchObject({ terminal: null, life: 'sleeping' });
  });

  it('is left alone at start, while a terminal that belongs to nothing is ended', async () => {
    await client.request('create', shell('exec sleep 1000'));
    await fleet.start();
    await expect.poll(running).toEqual([agent]);
  });

  it('leaves the question of trust alone that a session waits for', async () => {
    const { terminal } = await client.request('create', shell('exec sleep 1000', { cwd: '/' }));
    const repository = home.table.repositoryOf('/.git', '/', 'q', 0);
    home.table.insert({
      ...home.session,
      id: 'held',
      repository: repository.id,
      life: 'starting',
      git_dir: null,
      terminal: null,
    });
    await client.request('create', shell('exec sleep 1000'));
    await fleet.start();
    await expect.poll(running).toEqual([agent, terminal.id]);
  });

  it('stays archived when it is stopped or resumed at the same time', async () => {
    const resumed = fleet.resume('s');
    const stopped = fleet.stopSession('s');
    home.table.update('s', { life: 'archived', archived_at: 1 });
    await expect(resumed).rejects.toMatchObject({ code: 'session.archived' });
    expect(await stopped).toMatchObject({ state: 'archived' });
  });
});

describe('an agent whose work has landed', () => {
  let ptyhost: PtyHostHarness;
  let client: PtyHostClient;
  let home: SessionHome;
  let agent: string;
  let fleet: Fleet;

  beforeEach(async () => {
    ptyhost = new PtyHostHarness();
    client = await ptyhost.client();
    const { terminal } = await client.request('create', shell('exec sleep 1000'));
    agent = terminal.id;
    home = new SessionHome({ terminal: agent, agent_fact: 'finished', landing: 'landed' });
    fleet = new Fleet(
      home.context,
      new TerminalHost(() => ptyhost.client(), SILENT),
      Ledger.open(home.store, pricesWith()),
      { queueEntry: () => null, lastLanding: () => null, changed: () => {} },
    );
    await (await fleet.start()).known;
  });
  afterEach(async () => {
    fleet.stop();
    home[Symbol.dispose]();
    await ptyhost.end();
  });

  it('is put to sleep', async () => {
    await fleet.rest('s');
    expect(home.session).toMatchObject({ life: 'sleeping', terminal: null });
  });

  it('goes on with a turn that has just begun', async () => {
    expect(fleet.isInTurn('s')).toBe(false);
    const resting = fleet.rest('s');
    home.addPrompt('p', 'Go on.', { state: 'sent', sent_at: home.clock.now() });
    await resting;
    expect(home.session).toMatchObject({ life: 'active', terminal: agent });
  });

  it('is left to whoever is at its terminal', async () => {
    await ptyhost.attach(client, agent);
    await fleet.rest('s');
    expect(home.session).toMatchObject({ life: 'active', terminal: agent });
  });
});
