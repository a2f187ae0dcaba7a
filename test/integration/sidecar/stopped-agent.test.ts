import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ledger } from '../../../sidecar/cost/ledger.ts';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import { Fleet } from '../../../sidecar/sessions/fleet.ts';
import { TerminalHost } from '../../../sidecar/sessions/terminal-host.ts';
import type { PtyHostClient } from '../../../sidecar/terminals/ptyhost-client.ts';
import { PtyHostHarness, shell } from '../../support/ptyhost.ts';
import { TestClock } from '../../support/test-clock.ts';
import { SessionHome } from '../../unit/sessions/session-home.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const CONVERSATION = '11111111-1111-4111-8111-111111111111';

describe('an agent that is stopped while a prompt is on its way', () => {
  let ptyhost: PtyHostHarness;
  let client: PtyHostClient;
  let home: SessionHome;
  let events: string;
  let fleet: Fleet;
  const clock = new TestClock();

  beforeEach(async () => {
    ptyhost = new PtyHostHarness();
    client = await ptyhost.client();
    home = new SessionHome({ terminal: null });
    events = join(home.session.git_dir ?? '', 'fairlead', 'events');
    mkdirSync(events, { recursive: true, mode: 0o700 });
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

  const submission = (text: string) => ({
    name: `${String(clock.now() * 1_000_000).padStart(19, '0')}-a`,
    body: JSON.stringify({
      session_id: CONVERSATION,
      hook_event_name: 'UserPromptSubmit',
      prompt_id: 'p1',
      prompt: text,
    }),
  });
  /** An agent that does this when it is told to end. */
  const runs = async (atEnd: string) => {
    const { terminal } = await client.request(
      'create',
      shell(`trap '${atEnd}; exit 0' HUP TERM; touch ../ready; while :; do sleep 0.05; done`, {
        cwd: events,
      }),
    );
    home.table.update('s', { terminal: terminal.id });
    await expect.poll(() => existsSync(join(events, '../ready'))).toBe(true);
  };

  it('has an interrupted turn when it took the prompt', async () => {
    const { name, body } = submission('do it');
    await runs(`cp ../taken ${name}`);
    writeFileSync(join(events, '../taken'), body);
    home.addPrompt('p', 'do it', { state: 'sent', sent_at: clock.now(), tries: 1 });
    await fleet.stopSession('s');
    expect(home.session).toMatchObject({
      life: 'sleeping',
      terminal: null,
      agent_fact: 'finished',
      outcome: 'interrupted',
      unread: true,
    });
    expect(home.turns).toEqual([['do it', 'interrupted', null]]);
    expect(home.table.prompt('p')?.state).toBe('confirmed');
  });

  it('keeps the prompt for the next start when it did not, and the person is told', async () => {
    await runs(':');
    home.addPrompt('p', 'do it', { state: 'sent', sent_at: clock.now(), tries: 1 });
    home.addPrompt('q', '/exit', { state: 'sent', sent_at: clock.now(), tries: 1 });
    await (await fleet.start()).known;
    await fleet.stopSession('s');
    expect(home.turns).toEqual([]);
    expect(home.table.openPrompts('s')).toMatchObject([{ id: 'p', state: 'waiting', tries: 0 }]);
    clock.pass(20_000);
    await expect.poll(() => home.session.demand).toMatchObject({ kind: 'prompt-undelivered' });
  });

  it('has an interrupted turn when that is told only after its end', async () => {
    await runs(':');
    await (await fleet.start()).known;
    await fleet.stopSession('s');
    const { name, body } = submission('do it');
    writeFileSync(join(events, name), body);
    await expect.poll(() => home.turns).toEqual([['do it', 'interrupted', null]]);
    expect(home.session.outcome).toBe('interrupted');
  });
});
