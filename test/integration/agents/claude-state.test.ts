import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { dialogOptions } from '../../../sidecar/agents/claude/dialog.ts';
import { type Answer, answerSteps, INTERRUPT, promptSteps } from '../../../sidecar/agents/claude/keys.ts';
import { isTrusted } from '../../../sidecar/agents/claude/trust.ts';
import { type ClaudeHomeOptions, prepareClaude } from '../../support/claude.ts';
import { ClaudeTerminal, type ClaudeTerminalOptions } from '../../support/claude-terminal.ts';
import { ScriptedModel } from '../../support/model/scripted-model.ts';
import { prompt } from '../../support/model/story.ts';

let root: string;
let checkout: string;
let model: ScriptedModel;
let open: ClaudeTerminal[];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'fairlead-agent-'));
  checkout = join(root, 'checkout');
  mkdirSync(checkout);
  git('init', '--quiet', '--initial-branch', 'main');
  writeFileSync(join(checkout, 'README.md'), 'A checkout.\n');
  git('add', '.');
  git('-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '--quiet', '-m', 'First');
  model = await ScriptedModel.start();
  open = [];
});

afterEach(async () => {
  for (const terminal of open) await terminal.end();
  await model.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  model.assertNothingUnmatched();
});

function git(...args: string[]): void {
  execFileSync('git', args, { cwd: checkout });
}

type Start = Partial<ClaudeTerminalOptions> & { claude?: Partial<ClaudeHomeOptions>; mode?: string };

function start(words: readonly string[], { claude, mode, ...options }: Start = {}): ClaudeTerminal {
  const home = prepareClaude({
    home: join(root, 'home'),
    modelUrl: model.url,
    trusted: [checkout],
    ...claude,
  });
  const terminal = new ClaudeTerminal({
    home,
    cwd: checkout,
    events: join(root, 'events'),
    ...options,
    args: [
      ...(options.args ?? ['--session-id', randomUUID()]),
      '--permission-mode',
      mode ?? 'manual',
      ...words,
    ],
  });
  open.push(terminal);
  return terminal;
}

/** What a tool of the agent asks, once it is known: the terminal may tell that something is asked before a hook tells what. */
function untilAsked(terminal: ClaudeTerminal) {
  return terminal.untilState(({ agent, reason }) => agent === 'needs-you' && reason?.input !== undefined);
}

/** Answers the dialog as soon as it is drawn. */
async function answer(terminal: ClaudeTerminal, given: Answer, input?: unknown): Promise<void> {
  await terminal.until(() => dialogOptions(terminal.screen()).length > 0, 'a dialog');
  await terminal.press(answerSteps(terminal.screen(), given, input));
}

/** Runs until the checkout is gone: a tool of a CLI that is killed outlives it. */
const FOR_EVER = 'sh -c "while [ -e README.md ]; do sleep 0.1; done"';

const touch = { command: 'touch made.txt', description: 'Make a file' };
const question = {
  questions: [
    {
      question: 'Which color?',
      header: 'Color',
      multiSelect: false,
      options: [
        { label: 'Red', description: 'warm' },
        { label: 'Blue', description: 'cool' },
      ],
    },
  ],
};

describe('a turn', () => {
  test('works while the model answers and is finished afterwards', async () => {
    let answerNow = () => {};
    const gate = new Promise<void>((resolve) => {
      answerNow = resolve;
    });
    model
      .when(prompt('say hello'))
      .says('Hello.')
      .waitsFor(() => gate);
    const terminal = start(['--', 'say hello']);
    expect(await terminal.untilState(({ agent }) => agent === 'working')).toMatchObject({ started: true });
    answerNow();
    const state = await terminal.untilState(({ agent }) => agent === 'finished');
    expect(state).toMatchObject({ outcome: 'done' });
    expect(state.reason).toBeUndefined();
  });

  test('that is started without a prompt leaves the agent idle', async () => {
    const terminal = start([]);
    expect(await terminal.untilState(({ started }) => started)).toMatchObject({ agent: 'idle' });
  });

  test('that is interrupted while the model answers is finished, interrupted', async () => {
    model.when(prompt('think long')).says('I begin.\n\nThen I').hangs();
    const terminal = start(['--', 'think long']);
    await model.waitFor((request) => request.kind === 'story');
    await terminal.until(() => terminal.screen().join('\n').includes('I begin.'));
    await terminal.press(INTERRUPT);
    const state = await terminal.untilState(({ agent }) => agent !== 'working');
    expect(state).toMatchObject({ agent: 'finished', outcome: 'interrupted' });
  });

  test('that is interrupted while a tool runs is finished, interrupted', async () => {
    model.when(prompt('wait for ever')).callsTool('Bash', { command: FOR_EVER, description: 'Wait' });
    const terminal = start(['--allowedTools', 'Bash', '--', 'wait for ever']);
    await terminal.until(() => terminal.events().some(({ event }) => event === 'PreToolUse'));
    await terminal.untilState(({ agent }) => agent === 'working');
    await terminal.press(INTERRUPT);
    await terminal.untilState(({ agent, outcome }) => agent === 'finished' && outcome === 'interrupted');
  });

  test('with a background task goes on until the task has ended and the agent has looked at it', async () => {
    model
      .when(prompt('build it'))
      .callsTool('Bash', {
        command: 'sh -c "while [ ! -e stop ]; do sleep 0.1; done"',
        description: 'Build',
        run_in_background: true,
      })
      .thenSays('The build runs.')
      .thenSays('It is built.');
    const terminal = start(['--allowedTools', 'Bash', '--', 'build it']);
    await terminal.until(() => terminal.events().some(({ event }) => event === 'Stop'));
    expect(terminal.state().agent).toBe('working');
    writeFileSync(join(checkout, 'stop'), '');
    const state = await terminal.untilState(({ agent }) => agent === 'finished');
    expect(state.outcome).toBe('done');
    expect(model.asked('build it')).toHaveLength(3);
  });

  test('that the API refuses needs the person, and a new prompt takes it up again', async () => {
    model.when(prompt('try this')).alwaysFailsWith(500, 'the server is down');
    model.when(prompt('once more')).says('Now it works.');
    const terminal = start(['--', 'try this'], { env: { CLAUDE_CODE_MAX_RETRIES: '0' } });
    const state = await terminal.untilState(({ agent }) => agent === 'needs-you');
    expect(state.reason).toMatchObject({ kind: 'api-error' });
    expect(state.reason?.message).toContain('the server is down');
    await terminal.press(promptSteps('once more'));
    await terminal.untilState(({ agent, outcome }) => agent === 'finished' && outcome === 'done');
  });

  test('without a login needs the person to sign in', async () => {
    const terminal = start(['--', 'hello'], { claude: { key: false } });
    const state = await terminal.untilState(({ agent }) => agent === 'needs-you');
    expect(state.reason).toMatchObject({ kind: 'login' });
  });
});

describe('a permission dialog', () => {
  test('needs the person, with tool and input, and ends with the tool', async () => {
    model.when(prompt('make a file')).callsTool('Bash', touch).thenSays('Made.');
    const terminal = start(['--', 'make a file']);
    // What is asked and which call it is about come from two hooks, whose events may be read one before the other.
    const state = await terminal.untilState(({ reason }) => reason?.call !== undefined);
    expect(state.reason).toEqual({
      call: expect.any(String),
      kind: 'permission',
      message: 'Bash: touch made.txt',
      tool: 'Bash',
      input: touch,
    });
    await answer(terminal, { kind: 'allow' });
    await terminal.untilState(({ agent }) => agent === 'finished');
    expect(existsSync(join(checkout, 'made.txt'))).toBe(true);
  });

  test('that is declined interrupts the turn, though no hook says so', async () => {
    model.when(prompt('make a file')).callsTool('Bash', touch);
    const terminal = start(['--', 'make a file']);
    await terminal.untilState(({ agent }) => agent === 'needs-you');
    await answer(terminal, { kind: 'deny' });
    const state = await terminal.untilState(({ agent }) => agent !== 'needs-you' && agent !== 'working');
    expect(state).toMatchObject({ agent: 'finished', outcome: 'interrupted' });
    expect(existsSync(join(checkout, 'made.txt'))).toBe(false);
  });

  test('that is closed with Esc interrupts the turn', async () => {
    model.when(prompt('make a file')).callsTool('Bash', touch);
    const terminal = start(['--', 'make a file']);
    await terminal.untilState(({ agent }) => agent === 'needs-you');
    await terminal.until(() => dialogOptions(terminal.screen()).length > 0);
    await terminal.press(INTERRUPT);
    await terminal.untilState(({ agent, outcome }) => agent === 'finished' && outcome === 'interrupted');
  });

  test('that is declined with a message lets the agent go on and tells it', async () => {
    model.when(prompt('make a file')).callsTool('Bash', touch).thenSays('Then not.');
    const terminal = start(['--', 'make a file']);
    await terminal.untilState(({ agent }) => agent === 'needs-you');
    await answer(terminal, { kind: 'deny', message: 'use another name' });
    await terminal.untilState(({ agent, outcome }) => agent === 'finished' && outcome === 'done');
    expect(model.requests.at(-1)?.conversation?.toolResults[0]?.text).toContain('use another name');
  });

  test('of a subagent needs the person although its parent has stopped', async () => {
    model
      .when(prompt('delegate it'))
      .callsTool('Agent', {
        description: 'look',
        prompt: 'look around please',
        subagent_type: 'general-purpose',
      })
      .thenSays('I wait for it.')
      .thenSays('All done.');
    model.when(prompt('look around please')).callsTool('Bash', touch).after(400).thenSays('I looked.');
    const terminal = start(['--', 'delegate it']);
    await terminal.until(() => terminal.events().some(({ event }) => event === 'Stop'));
    const state = await untilAsked(terminal);
    expect(state.reason).toMatchObject({ kind: 'permission', tool: 'Bash' });
    await answer(terminal, { kind: 'allow' });
    await terminal.untilState(({ agent, outcome }) => agent === 'finished' && outcome === 'done');
  });
});

describe('other dialogs', () => {
  test('a question needs the person, with its choices, and takes the label of one', async () => {
    model.when(prompt('paint it')).callsTool('AskUserQuestion', question).thenSays('Blue it is.');
    const terminal = start(['--', 'paint it']);
    const state = await untilAsked(terminal);
    expect(state.reason).toMatchObject({
      kind: 'question',
      message: 'Which color?',
      options: ['Red', 'Blue'],
    });
    await answer(terminal, { kind: 'text', text: 'blue' }, state.reason?.input);
    await terminal.untilState(({ agent }) => agent === 'finished');
    expect(model.requests.at(-1)?.conversation?.toolResults[0]?.text).toContain('"Which color?"="Blue"');
  });

  test('a question takes free text', async () => {
    model.when(prompt('paint it')).callsTool('AskUserQuestion', question).thenSays('Green it is.');
    const terminal = start(['--', 'paint it']);
    const { reason } = await untilAsked(terminal);
    await answer(terminal, { kind: 'text', text: 'a deep green' }, reason?.input);
    await terminal.untilState(({ agent }) => agent === 'finished');
    expect(model.requests.at(-1)?.conversation?.toolResults[0]?.text).toContain('a deep green');
  });

  describe('a plan that was written', () => {
    const plans = async () => {
      model
        .when(prompt('plan it'))
        .callsTool('Write', ({ planFile }) => ({ file_path: planFile, content: '1. Do it.\n' }))
        .andThen()
        .callsTool('ExitPlanMode', {})
        .andThen()
        .callsTool('Write', { file_path: join(checkout, 'done.md'), content: 'Done.\n' })
        .thenSays('It is done.');
      const terminal = start(['--', 'plan it'], { mode: 'plan' });
      const { reason } = await untilAsked(terminal);
      expect(reason).toMatchObject({ kind: 'plan', input: { plan: '1. Do it.\n' } });
      return terminal;
    };

    test('is allowed so that its edits are asked for', async () => {
      const terminal = await plans();
      await answer(terminal, { kind: 'allow' });
      const { reason } = await terminal.untilState((state) => state.reason?.kind === 'permission');
      expect(reason).toMatchObject({ tool: 'Write' });
      expect(existsSync(join(checkout, 'done.md'))).toBe(false);
      await answer(terminal, { kind: 'allow' });
      await terminal.untilState(({ agent }) => agent === 'finished');
      expect(existsSync(join(checkout, 'done.md'))).toBe(true);
    });

    test('is sent back with what to change', async () => {
      const terminal = await plans();
      await answer(terminal, { kind: 'deny', message: 'Do it\nwith bricks' });
      const told = () =>
        model.requests.some(({ conversation }) =>
          conversation?.toolResults.some(({ text }) => text.includes('Do it with bricks')),
        );
      await terminal.until(told, 'what to change');
      expect(existsSync(join(checkout, 'done.md'))).toBe(false);
    });

    test('is denied, and nothing of it is done', async () => {
      const terminal = await plans();
      await answer(terminal, { kind: 'deny' });
      await terminal.untilState(({ agent }) => agent === 'finished');
      expect(existsSync(join(checkout, 'done.md'))).toBe(false);
    });
  });

  test('an empty plan waits for approval', async () => {
    model.when(prompt('plan it')).callsTool('ExitPlanMode', { plan: '1. Do it.' }).thenSays('I do it.');
    const terminal = start(['--', 'plan it'], { mode: 'plan' });
    const state = await untilAsked(terminal);
    expect(state.reason).toMatchObject({ kind: 'plan' });
    await answer(terminal, { kind: 'allow' });
    await terminal.untilState(({ agent }) => agent === 'finished');
  });

  test('a dialog that the person opened is shown as one, and is over when it is closed', async () => {
    const terminal = start([]);
    await terminal.untilState(({ started }) => started);
    await terminal.press(promptSteps('/model'));
    const state = await terminal.untilState(({ agent }) => agent === 'needs-you');
    expect(state.reason).toMatchObject({ kind: 'unknown' });
    await terminal.press(INTERRUPT);
    await terminal.untilState(({ agent }) => agent === 'idle');
  });

  test('a folder that is not trusted needs the person before anything else, and is never finished', async () => {
    model.when(prompt('hello')).says('Hello.');
    const terminal = start(['--', 'hello'], { claude: { trusted: [] } });
    const state = await terminal.untilState(({ agent }) => agent === 'needs-you');
    expect(state.reason).toMatchObject({ kind: 'trust', options: ['allow', 'deny'] });
    expect(state.started).toBe(false);
    await answer(terminal, { kind: 'allow' });
    await terminal.untilState(({ agent }) => agent === 'finished');
    expect(isTrusted(join(root, 'home', '.claude'), checkout)).toBe(true);
  });

  test('a worktree of a trusted checkout starts without asking, wherever it is', async () => {
    git('worktree', 'add', '--quiet', '-b', 'other', join(root, 'elsewhere'));
    const terminal = start([], { cwd: join(root, 'elsewhere') });
    expect(await terminal.untilState(({ started }) => started)).toMatchObject({ agent: 'idle' });
  });

  test('trust that is given in a worktree is kept for the main checkout', async () => {
    git('worktree', 'add', '--quiet', '-b', 'other', join(root, 'elsewhere'));
    const terminal = start([], { cwd: join(root, 'elsewhere'), claude: { trusted: [] } });
    await terminal.untilState(({ agent }) => agent === 'needs-you');
    await answer(terminal, { kind: 'allow' });
    await terminal.untilState(({ started }) => started);
    expect(isTrusted(join(root, 'home', '.claude'), checkout)).toBe(true);
    expect(isTrusted(join(root, 'home', '.claude'), join(root, 'elsewhere'))).toBe(false);
  });

  test('the first-run screens need the person', async () => {
    const terminal = start(['--', 'hello'], { claude: { onboarded: false } });
    const state = await terminal.untilState(({ agent }) => agent === 'needs-you');
    expect(state.reason).toMatchObject({ kind: 'login' });
  });

  test('the question about the API key needs the person', async () => {
    const terminal = start(['--', 'hello'], { claude: { keyApproved: false } });
    const state = await terminal.untilState(({ agent }) => agent === 'needs-you');
    expect(state.reason).toMatchObject({ kind: 'login' });
  });

  test('the warning of the mode that bypasses permissions needs the person', async () => {
    const terminal = start(['--', 'hello'], { mode: 'bypassPermissions' });
    const state = await terminal.untilState(({ agent }) => agent === 'needs-you');
    expect(state.reason).toMatchObject({ kind: 'permission' });
  });
});

describe('a conversation', () => {
  test('is followed through /clear: a new id, and the agent is idle', async () => {
    model.when(prompt('first thing')).says('One.');
    model.when(prompt('second thing')).says('Two.');
    const terminal = start(['--', 'first thing']);
    await terminal.untilState(({ agent }) => agent === 'finished');
    await terminal.press(promptSteps('/clear'));
    await terminal.untilState(({ agent }) => agent === 'idle');
    const starts = terminal.events().filter(({ event }) => event === 'SessionStart');
    expect(starts.map(({ source }) => source)).toEqual(['startup', 'clear']);
    expect(new Set(starts.map(({ agentSessionId }) => agentSessionId)).size).toBe(2);
    await terminal.press(promptSteps('second thing'));
    await terminal.untilState(({ agent }) => agent === 'finished');
  });

  test('goes on after a kill in the middle of a turn', async () => {
    model.when(prompt('wait for ever')).callsTool('Bash', { command: FOR_EVER, description: 'Wait' });
    model.when(prompt('go on')).says('I go on.');
    const id = randomUUID();
    const killed = start(['--allowedTools', 'Bash', '--', 'wait for ever'], { args: ['--session-id', id] });
    // The CLI writes its transcript some time after it acts; what is not written is lost with it.
    await killed.until(() => killed.hints()?.activityAt !== null && killed.hints() !== undefined);
    process.kill(killed.pid, 'SIGKILL');
    const state = await killed.untilState(({ agent }) => agent === 'needs-you');
    expect(state).toMatchObject({ reason: { kind: 'agent-ended' }, outcome: 'interrupted' });
    const resumed = start([], { args: ['--resume', id] });
    expect(await resumed.untilState(({ started }) => started)).toMatchObject({
      agent: 'finished',
      outcome: 'interrupted',
    });
    await resumed.press(promptSteps('go on'));
    await resumed.untilState(({ agent, outcome }) => agent === 'finished' && outcome === 'done');
    expect(model.requests.at(-1)?.conversation?.prompts).toEqual(['wait for ever', 'go on']);
  });

  test('that the person leaves with /exit is ended, and needs nobody', async () => {
    const terminal = start([]);
    await terminal.untilState(({ started }) => started);
    await terminal.press(promptSteps('/exit'));
    const state = await terminal.untilState(({ agent }) => agent === 'ended');
    expect(state.reason).toBeUndefined();
  });

  test('that does not exist ends the agent with what the CLI says', async () => {
    const terminal = start([], { args: ['--resume', randomUUID()] });
    const state = await terminal.untilState(({ agent }) => agent === 'needs-you');
    expect(state.reason).toMatchObject({ kind: 'agent-ended' });
  });
});

describe('the signals stand in for each other', () => {
  for (const missing of ['hooks', 'status', 'registry', 'transcript'] as const) {
    test(`a turn with a permission is told without ${missing}`, async () => {
      model.when(prompt('make a file')).callsTool('Bash', touch).thenSays('Made.');
      const terminal = start(['--', 'make a file'], { without: [missing] });
      const state = await terminal.untilState(({ agent }) => agent === 'needs-you');
      expect(state.reason).toMatchObject({ kind: 'permission' });
      await answer(terminal, { kind: 'allow' });
      await terminal.untilState(({ agent, outcome }) => agent === 'finished' && outcome === 'done');
    });

    test(`an interruption is told without ${missing}`, async () => {
      model.when(prompt('think long')).says('I begin.\n\nThen I').hangs();
      const terminal = start(['--', 'think long'], { without: [missing] });
      await terminal.untilState(({ agent }) => agent === 'working');
      await terminal.until(() => terminal.screen().join('\n').includes('I begin.'));
      await terminal.press(INTERRUPT);
      await terminal.untilState(({ agent, outcome }) => agent === 'finished' && outcome === 'interrupted');
    });
  }
});
