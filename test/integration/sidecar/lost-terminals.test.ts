import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ledger } from '../../../sidecar/cost/ledger.ts';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import { systemClock } from '../../../sidecar/platform/clock.ts';
import { Fleet } from '../../../sidecar/sessions/fleet.ts';
import { TerminalHost } from '../../../sidecar/sessions/terminal-host.ts';
import type { PtyHostClient } from '../../../sidecar/terminals/ptyhost-client.ts';
import { PtyHostHarness, shell } from '../../support/ptyhost.ts';
import { SessionHome } from '../../unit/sessions/session-home.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

describe('a terminal that ends or is lost', () => {
  let ptyhosts: PtyHostHarness[];
  let client: PtyHostClient;
  let home: SessionHome;
  let fleet: Fleet;
  let changes: number;

  beforeEach(async () => {
    ptyhosts = [new PtyHostHarness()];
    client = await (ptyhosts[0] as PtyHostHarness).client();
    home = new SessionHome({ terminal: null });
    const gitDir = join(home.folder, 'git');
    mkdirSync(gitDir);
    home.table.update('s', { git_dir: gitDir });
    changes = 0;
    fleet = new Fleet(
      { ...home.context, clock: systemClock },
      new TerminalHost(() => (ptyhosts.at(-1) as PtyHostHarness).client(), SILENT),
      Ledger.open(home.store, pricesWith()),
      { queueEntry: () => null, lastLanding: () => null, changed: () => (changes += 1) },
    );
  });
  afterEach(async () => {
    fleet.stop();
    home[Symbol.dispose]();
    for (const ptyhost of ptyhosts) await ptyhost.end();
  });

  it('long after the machine was started anew is one that was lost', async () => {
    home.table.bootChanged('an earlier one');
    const { terminal } = await client.request('create', shell('exec sleep 1000'));
    const reason = { kind: 'api-error', message: 'It failed.' } as const;
    home.table.update('s', { terminal: terminal.id, agent_fact: 'needs-you', reason });
    await fleet.start();
    // It was seen since.
    await expect.poll(() => home.session.reason).toBeNull();
    ptyhosts.push(new PtyHostHarness());
    process.kill(client.host.pid, 'SIGKILL');
    await expect
      .poll(() => home.session.reason, { timeout: 10_000 })
      .toMatchObject({ kind: 'terminal-lost' });
  });

  it("that was being ended, or is nobody's, is ended though the ptyhost answers late", {
    timeout: 30_000,
  }, async () => {
    const { terminal } = await client.request('create', shell('exec sleep 1000'));
    await client.request('create', shell('exec sleep 1000'));
    home.table.update('s', { terminal: terminal.id, life: 'sleeping' });
    const answer = Promise.withResolvers<void>();
    const harness = ptyhosts[0] as PtyHostHarness;
    fleet = new Fleet(
      { ...home.context, clock: systemClock },
      new TerminalHost(() => answer.promise.then(() => harness.client()), SILENT),
      Ledger.open(home.store, pricesWith()),
      { queueEntry: () => null, lastLanding: () => null, changed: () => {} },
    );
    await fleet.start();
    expect(home.session.terminal).toBe(terminal.id);
    answer.resolve();
    await expect.poll(() => home.session.terminal, { timeout: 20_000 }).toBeNull();
    await expect
      .poll(async () => (await client.request('list', {})).terminals, { timeout: 20_000 })
      .toEqual([]);
    expect(home.session.life).toBe('sleeping');
  });

  it('is told of when it was a shell, though no agent runs', async () => {
    const { terminal } = await client.request('create', shell('read line'));
    home.table.update('s', { shell: terminal.id, life: 'sleeping' });
    await fleet.start();
    await client.request('write', { id: terminal.id, data: 'over\r' });
    await expect.poll(() => changes).toBe(1);
  });
});
