import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ledger } from '../../../sidecar/cost/ledger.ts';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import { FairleadError } from '../../../sidecar/protocol/errors.ts';
import { Fleet } from '../../../sidecar/sessions/fleet.ts';
import { TerminalHost } from '../../../sidecar/sessions/terminal-host.ts';
import type { PtyHostClient } from '../../../sidecar/terminals/ptyhost-client.ts';
import { PtyHostHarness, shell } from '../../support/ptyhost.ts';
import { TestClock } from '../../support/test-clock.ts';
import { SessionHome } from '../../unit/sessions/session-home.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const CONVERSATION = '11111111-1111-4111-8111-111111111111';

/** A session whose agent is not on its PATH, so that it cannot be started. */
describe('a prompt for an agent that sleeps', () => {
  let ptyhost: PtyHostHarness;
  let client: PtyHostClient;
  let home: SessionHome;
  let fleet: Fleet;
  const clock = new TestClock();

  beforeEach(async () => {
    ptyhost = new PtyHostHarness();
    client = await ptyhost.client();
    home = new SessionHome({ terminal: null, life: 'sleeping' });
    const gitDir = join(home.folder, 'git');
    mkdirSync(gitDir);
    home.table.update('s', { git_dir: gitDir });
    home.table.appendAgentSession('s', CONVERSATION, 0);
    fleet = new Fleet(
      { ...home.context, clock },
      new TerminalHost(() => ptyhost.client(), SILENT),
      Ledger.open(home.store, pricesWith()),
      { queueEntry: () => null, lastLanding: () => null, changed: () => {} },
    );
  });
  afterEach(async () => {
    fleet.stop();
    home[Symbol.dispose]();
    await ptyhost.end();
  });
  const never = new AbortController().signal;
  const send = (revoked = never, gone = never) =>
    fleet.send('s', 'do it', {
      signal: AbortSignal.any([revoked, gone, AbortSignal.timeout(20_000)]),
      revoked,
    });

  it('is not kept when the agent cannot be started: whoever sent it knows', async () => {
    await expect(send()).rejects.toMatchObject({ code: 'agent.missing' });
    expect(home.table.openPrompts('s')).toEqual([]);
  });

  it('keeps awake the agent that was about to be put to rest', async () => {
    const { terminal } = await client.request('create', shell('exec sleep 1000'));
    home.table.update('s', { life: 'active', landing: 'landed', terminal: terminal.id });
    await (await fleet.start()).known;
    const resting = fleet.rest('s');
    const sending = send();
    sending.catch(() => {});
    expect(home.table.openPrompts('s')).toHaveLength(1);
    await resting;
    expect(home.session).toMatchObject({ life: 'active', terminal: terminal.id });
  });

  it('is taken back by whoever sent it, until it was given to the agent; by no connection that is lost', async () => {
    // Something covers the composer, so that it waits.
    const { terminal } = await client.request('create', shell('exec sleep 1000'));
    home.table.update('s', { life: 'active', terminal: terminal.id });
    await (await fleet.start()).known;
    const open = () => home.table.openPrompts('s').map(({ state }) => state);
    const cancelled = new FairleadError('cancelled', 'Cancelled.');

    const revoked = new AbortController();
    const sending = send(revoked.signal);
    await expect.poll(open).toEqual(['waiting']);
    revoked.abort(cancelled);
    await expect(sending).rejects.toMatchObject({ code: 'cancelled' });
    expect(open()).toEqual([]);

    const gone = new AbortController();
    const kept = send(never, gone.signal);
    await expect.poll(open).toEqual(['waiting']);
    gone.abort(cancelled);
    await expect(kept).rejects.toMatchObject({ code: 'cancelled' });
    expect(open()).toEqual(['waiting']);

    const late = new AbortController();
    const given = send(late.signal);
    await expect.poll(open).toEqual(['waiting', 'waiting']);
    for (const { id } of home.table.openPrompts('s')) home.table.updatePrompt(id, { state: 'sent' });
    late.abort(cancelled);
    await expect(given).rejects.toMatchObject({ code: 'prompt.sent' });
    expect(open()).toEqual(['sent', 'sent']);
  });

  it('is for a person when the agent ended before it got there', async () => {
    home.addPrompt('p', 'do it', { created_at: clock.now() - 60_000 });
    await fleet.start();
    await expect
      .poll(() => home.session)
      .toMatchObject({ agent_fact: 'needs-you', demand: { kind: 'prompt-undelivered' } });
    expect(home.session.reason?.message).toContain('do it');
    expect(home.table.openPrompts('s')).toHaveLength(1);
  });

  it('is for nobody while it is the one that ended it', async () => {
    home.addPrompt('p', '/exit', { state: 'sent', created_at: clock.now() - 60_000 });
    home.addPrompt('q', 'just sent', { created_at: clock.now() });
    await fleet.start();
    // Made by the first look.
    await expect.poll(() => existsSync(join(home.folder, 'git', 'fairlead', 'events'))).toBe(true);
    expect(home.session.demand).toBeNull();
    clock.pass(20_000);
    await expect.poll(() => home.session.demand?.message).toContain('just sent');
  });
});
