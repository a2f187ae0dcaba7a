import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ledger } from '../../../sidecar/cost/ledger.ts';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import { ScanWorker, type TranscriptScanner } from '../../../sidecar/cost/transcript-scanner.ts';
import { systemClock } from '../../../sidecar/platform/clock.ts';
import { silentLog } from '../../../sidecar/platform/log.ts';
import { FairleadError } from '../../../sidecar/protocol/errors.ts';
import { Fleet } from '../../../sidecar/sessions/fleet.ts';
import { TerminalHost } from '../../../sidecar/sessions/terminal-host.ts';
import type { PtyHostClient } from '../../../sidecar/terminals/ptyhost-client.ts';
import { PtyHostHarness, shell } from '../../support/ptyhost.ts';
import { SCANNER } from '../../support/scanner.ts';
import { SessionHome } from '../../unit/sessions/session-home.ts';

const CONVERSATION = '11111111-1111-4111-8111-111111111111';
const at = (state: string) => `printf '\\033]7501;state=${state}\\007'`;

/** Rejects everything at once. */
const refusing = (code: 'transcript.unreadable' | 'transcript.interrupted'): TranscriptScanner => ({
  news: () => Promise.reject(new FairleadError(code, 'Not to be read.')),
  requests: () => Promise.reject(new FairleadError(code, 'Not to be read.')),
});

describe('an agent whose transcript cannot be read', { timeout: 60_000 }, () => {
  let ptyhost: PtyHostHarness;
  let client: PtyHostClient;
  let home: SessionHome;
  let fleet: Fleet | undefined;

  beforeEach(async () => {
    ptyhost = new PtyHostHarness();
    client = await ptyhost.client();
  });
  afterEach(async () => {
    fleet?.stop();
    fleet = undefined;
    home[Symbol.dispose]();
    await ptyhost.end();
  });

  /** A session in a turn, with a transcript, whose terminal runs `script`. */
  async function start(transcripts: TranscriptScanner, script: string): Promise<Fleet> {
    const terminal = (await client.request('create', shell(script))).terminal.id;
    home = new SessionHome({ terminal, agent_fact: 'working' });
    const projects = join(home.folder, '.claude', 'projects', 'w');
    mkdirSync(projects, { recursive: true });
    writeFileSync(join(projects, `${CONVERSATION}.jsonl`), '{}\n');
    home.table.appendAgentSession('s', CONVERSATION, 0);
    const context = { ...home.context, clock: systemClock, transcripts };
    fleet = new Fleet(
      context,
      new TerminalHost(() => ptyhost.client(), silentLog),
      Ledger.open(home.store, pricesWith()),
      { queueEntry: () => null, lastLanding: () => null, changed: () => {} },
    );
    await (await fleet.start()).known;
    return fleet;
  }

  const cases: [string, () => TranscriptScanner][] = [
    ['because it is unreadable', () => refusing('transcript.unreadable')],
    ['because the reading is interrupted', () => refusing('transcript.interrupted')],
    ['because no reader can be started', () => deadWorker()],
  ];
  function deadWorker(): ScanWorker {
    // Refused by the constructor of the thread.
    return new ScanWorker({ script: 'no-path.js', clock: systemClock, log: silentLog });
  }

  it.each(cases)('is seen, and can be put away: %s', async (_why, scanner) => {
    const started = await start(scanner(), `${at('idle')}; sleep 1000`);
    await expect.poll(() => started.isInTurn('s'), { timeout: 20_000 }).toBe(false);
    await started.stopSession('s');
    expect(home.session).toMatchObject({ life: 'sleeping', terminal: null });
  });

  it.each(cases)('tells by its hooks, and its end is seen: %s', async (_why, scanner) => {
    const started = await start(scanner(), `${at('working')}; read line`);
    const events = join(home.session.git_dir ?? '', 'fairlead', 'events');
    writeFileSync(
      join(events, '1'),
      JSON.stringify({
        hook_event_name: 'UserPromptSubmit',
        session_id: CONVERSATION,
        prompt: 'do it',
        prompt_id: 'p',
      }),
    );
    await expect.poll(() => home.turns, { timeout: 20_000 }).toEqual([['do it', 'open', null]]);
    expect(started.isInTurn('s')).toBe(true);
    await client.request('kill', { id: home.session.terminal ?? '' });
    await expect.poll(() => home.session.life, { timeout: 20_000 }).toBe('sleeping');
  });

  it('is seen though the folder of its subagents cannot be read', async () => {
    const started = await start(SCANNER, `${at('idle')}; sleep 1000`);
    const folder = join(home.folder, '.claude', 'projects', 'w', CONVERSATION);
    mkdirSync(folder, { recursive: true });
    symlinkSync('subagents', join(folder, 'subagents'));
    home.table.update('s', { agent_fact: 'working' });
    await expect.poll(() => started.isInTurn('s'), { timeout: 20_000 }).toBe(false);
    await started.stopSession('s');
    expect(home.session).toMatchObject({ life: 'sleeping', terminal: null });
  });

  it('is not known to be at rest after a look that failed', async () => {
    const started = await start(SCANNER, `${at('idle')}; sleep 1000`);
    started.stop();
    home.table.update('s', { agent_fact: 'idle' });
    let fails = true;
    const failing = new Proxy(home.table, {
      get: (table, name) => {
        if (name === 'environment' && fails) throw new Error('not this time');
        const value: unknown = Reflect.get(table, name, table);
        return typeof value === 'function' ? value.bind(table) : value;
      },
    });
    const context = { ...home.context, clock: systemClock, table: failing };
    fleet = new Fleet(
      context,
      new TerminalHost(() => ptyhost.client(), silentLog),
      Ledger.open(home.store, pricesWith()),
      { queueEntry: () => null, lastLanding: () => null, changed: () => {} },
    );
    await (await fleet.start()).known;
    expect(fleet.isInTurn('s')).toBe(true);
    fails = false;
    await expect.poll(() => fleet?.isInTurn('s'), { timeout: 20_000 }).toBe(false);
  });
});
