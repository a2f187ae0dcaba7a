import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findSubagentTranscripts, findTranscript } from '../../../sidecar/agents/claude/transcript-path.ts';
import { systemIds } from '../../../sidecar/platform/ids.ts';
import { systemProcesses } from '../../../sidecar/platform/processes.ts';
import * as z from '../../../sidecar/protocol/zod.ts';
import { CLAUDE, type ClaudeHome, prepareClaude } from '../../support/claude.ts';
import { ScriptedModel } from '../../support/model/scripted-model.ts';
import { exactPrompt, type Story } from '../../support/model/story.ts';
import { LedgerHome } from '../../unit/cost/ledger-home.ts';

const Result = z.looseObject({ total_cost_usd: z.number(), session_id: z.string(), is_error: z.boolean() });

let model: ScriptedModel;
let home: LedgerHome;
let claude: ClaudeHome;
let folder: string;

beforeAll(async () => {
  model = await ScriptedModel.start();
});
afterAll(() => model.stop());
beforeEach(() => {
  home = new LedgerHome();
  folder = join(realpathSync(home.folder), 'work');
  mkdirSync(folder);
  claude = prepareClaude({ home: join(home.folder, 'home'), modelUrl: model.url, trusted: [folder] });
});
afterEach(() => {
  home.remove();
  model.assertNothingUnmatched();
  model.reset();
});

/** Runs one prompt through the CLI. Answers its own total in US dollars: of the whole conversation, by its design. */
async function ask(prompt: string, args: readonly string[]): Promise<number> {
  const run = await systemProcesses.run(
    CLAUDE,
    ['-p', prompt, '--output-format', 'json', '--permission-mode', 'bypassPermissions', ...args],
    { cwd: folder, env: claude.env, timeoutMs: 60_000 },
  );
  expect(run.exitCode, `${run.stdout} ${run.stderr}`).toBe(0);
  return Result.parse(JSON.parse(run.stdout.toString())).total_cost_usd;
}

/** Reads what the CLI wrote for an agent session; a transcript that is missing fails the test. */
async function read(agentSession: string): Promise<void> {
  const transcript = findTranscript(claude.configDir, agentSession);
  expect(transcript).toBeDefined();
  const paths = transcript === undefined ? [] : [transcript, ...findSubagentTranscripts(transcript)];
  expect(await home.read(paths)).toMatchObject({ malformed: 0, unreadable: [] });
}

function addSession(name: string): string {
  const agentSession = systemIds.uuid();
  home.addSession(name, [[agentSession, 0]]);
  return agentSession;
}

/** A reply of two content blocks and one of a single block, with all kinds of tokens and fractions of a cent. */
function tellWork(prompt: string): Story {
  return model
    .when(exactPrompt(prompt))
    .says('I look.')
    .callsTool('Bash', { command: 'echo hi' })
    .usage({
      input: 13,
      output: 1007,
      cacheRead: 20_011,
      cacheWrite5m: 307,
      cacheWrite1h: 503,
      webSearches: 1,
    })
    .thenSays('Done.')
    .usage({ input: 101, output: 7, cacheRead: 20_821, cacheWrite5m: 17 });
}

describe('the ledger and the CLI', () => {
  it.each([
    'claude-fable-5-2',
    'claude-fable-5-1',
    'claude-fable-5',
    'claude-opus-5-5',
    'claude-opus-5-5[1m]',
    'claude-opus-5',
    'claude-opus-4-8',
    'claude-opus-4-7',
    'claude-opus-4-6',
    'claude-opus-4-5-20251101',
    // Retired: the CLI runs another model instead, and the transcript says which.
    'claude-opus-4-1',
    'claude-sonnet-5-5',
    'claude-sonnet-5',
    'claude-sonnet-4-6',
    'claude-sonnet-4-5',
    'claude-sonnet-4-20250514',
    'claude-haiku-5-5',
    'claude-haiku-4-5-20251001',
  ])('agree on a session with %s', async (id) => {
    tellWork('work');
    const agentSession = addSession('s');
    const total = await ask('work', ['--session-id', agentSession, '--model', id]);
    await read(agentSession);
    const cost = home.ledger.sessionCost('s');
    expect(cost.unpriced).toBe(0);
    expect(cost.ownUsd).toBeGreaterThan(0);
    expect(cost.ownUsd).toBeCloseTo(total, 9);
    expect(home.ledger.summary({ by: 'session' }).total.requests).toBe(2);
  });

  it('agree on a large request to a model with two tiers, and on fast mode', async () => {
    model
      .when(exactPrompt('large'))
      .callsTool('Bash', { command: 'true' })
      .usage({ input: 1, output: 11, cacheRead: 99_999 })
      .thenSays('Done.')
      .usage({ input: 1, output: 11, cacheRead: 60_000, cacheWrite5m: 20_000, cacheWrite1h: 20_000 });
    model
      .when(exactPrompt('fast'))
      .says('Done.')
      .usage({ input: 7, output: 11, cacheRead: 1_003, speed: 'fast' });
    const agentSession = addSession('s');
    await ask('large', ['--session-id', agentSession, '--model', 'claude-haiku-5-5']);
    const total = await ask('fast', ['--resume', agentSession, '--model', 'claude-opus-5']);
    await read(agentSession);
    expect(home.ledger.sessionCost('s').ownUsd).toBeCloseTo(total, 9);
    expect(
      home.ledger
        .summary({ by: 'model' })
        .rows.map(({ group }) => group)
        .sort(),
    ).toEqual(['claude-haiku-5-5', 'claude-opus-5']);
  });

  it('agree on subagents, resumes and forks, of which the CLI tells only running totals', async () => {
    model
      .when(exactPrompt('delegate'))
      .callsTool('Agent', {
        description: 'look',
        prompt: 'look around',
        subagent_type: 'general-purpose',
        run_in_background: false,
      })
      .usage({ input: 10, output: 10 })
      .thenSays('Done.')
      .usage({ input: 100, output: 7 });
    tellWork('look around');
    tellWork('go on');
    tellWork('try another way');
    const [parent, fork] = [addSession('parent'), addSession('fork')];
    await ask('delegate', ['--session-id', parent]);
    const forked = await ask('try another way', ['--resume', parent, '--fork-session', '--session-id', fork]);
    await read(fork);
    await read(parent);
    const before = home.ledger.sessionCost('parent').ownUsd;
    const total = await ask('go on', ['--resume', parent]);
    await read(parent);
    expect(home.ledger.sessionCost('parent').ownUsd).toBeCloseTo(total, 9);
    expect(home.ledger.sessionCost('fork').ownUsd).toBeCloseTo(forked - before, 9);
    expect(home.ledger.sessionCost('fork').usd).toBeGreaterThan(home.ledger.sessionCost('fork').ownUsd);
    expect(home.ledger.summary({ by: 'session' }).total).toMatchObject({ requests: 8 });
  });

  it('differ on a model that neither knows: the CLI guesses, the ledger says so', async () => {
    tellWork('work');
    const agentSession = addSession('s');
    expect(await ask('work', ['--session-id', agentSession, '--model', 'claude-nonesuch-9'])).toBeGreaterThan(
      0,
    );
    await read(agentSession);
    expect(home.ledger.sessionCost('s')).toEqual({ ownUsd: 0, usd: 0, unpriced: 2 });
  });
});
