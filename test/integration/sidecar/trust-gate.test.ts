import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { TerminalHost } from '../../../sidecar/sessions/terminal-host.ts';
import { TrustGate } from '../../../sidecar/sessions/trust-gate.ts';
import { PtyHostHarness } from '../../support/ptyhost.ts';
import { TestClock } from '../../support/test-clock.ts';
import { SessionHome } from '../../unit/sessions/session-home.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

it('a session whose question is answered while it is being asked goes on and demands nothing', async () => {
  const ptyhost = new PtyHostHarness();
  using home = new SessionHome();
  const terminals = new TerminalHost(() => ptyhost.client(), SILENT);
  const clock = new TestClock();
  const bin = join(home.folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'claude'), '#!/bin/sh\nexec sleep 1000\n');
  chmodSync(join(bin, 'claude'), 0o755);
  const environment = home.table.keepEnvironment({ HOME: home.folder, PATH: `${bin}:${process.env.PATH}` });
  const add = (id: string) => {
    const main = join(home.folder, id);
    mkdirSync(main);
    const repository = home.table.repositoryOf(join(main, '.git'), main, id, 0);
    home.table.insert({ ...home.session, id, repository: repository.id, environment, life: 'starting' });
    return { main, record: home.table.get(id) };
  };
  const first = add('first');
  const second = add('second');
  const proceeded: string[] = [];
  const gate = new TrustGate({ ...home.context, clock }, terminals, async (id) => {
    proceeded.push(id);
  });
  try {
    // Its question stands, so that answers are looked for.
    expect(await gate.holds(first.record)).toBe(true);
    expect(home.table.get('first').demand).toMatchObject({ kind: 'trust' });

    const held = gate.holds(second.record);
    const projects = { [second.main]: { hasTrustDialogAccepted: true } };
    writeFileSync(join(home.folder, '.claude.json'), JSON.stringify({ projects }));
    clock.pass(1_000);
    expect(await held).toBe(true);
    expect(home.table.get('second').demand).toBeNull();
    await expect.poll(() => proceeded).toEqual(['second']);
    expect(home.table.get('second').demand).toBeNull();
  } finally {
    gate.stop();
    terminals.close();
    await ptyhost.end();
  }
});
