import { describe, expect, test } from 'vitest';
import { SILENT_START_MS } from '../../../../sidecar/agents/claude/state.ts';
import { promptedAt, Timeline } from './timeline.ts';

const touch = { command: 'touch made.txt', description: 'make' };
const bash = { promptId: 'p1', toolName: 'Bash', toolInput: touch };

/** A permission dialog, as recorded. */
const askedForPermission = () =>
  promptedAt()
    .hook(1423, 'PreToolUse', { ...bash, toolUseId: 't1' })
    .status(1435, 'working', { msg: 'making' })
    .hook(1477, 'PermissionRequest', bash)
    .status(1506, 'blocked', { kind: 'permission', msg: 'approve Bash: touch made.txt' })
    .registry(1530, 'waiting', 'permission prompt');

describe('a start', () => {
  test('that has said nothing is idle and takes no keys yet', () => {
    expect(new Timeline().at(300)).toEqual({ agent: 'idle', since: 0, started: false });
  });

  test('is not over with SessionStart and the registry: keys are lost until the terminal says idle', () => {
    const start = new Timeline().hook(456, 'SessionStart', { source: 'resume' }).registry(460, 'idle');
    expect(start.at(2_000)).toMatchObject({ agent: 'idle', started: false });
    expect(start.status(2_400, 'idle').at(2_400)).toMatchObject({ agent: 'idle', started: true });
  });

  test('of a CLI that tells no status is over a while after SessionStart', () => {
    const start = new Timeline().hook(456, 'SessionStart', { source: 'startup' });
    expect(start.at(3_000).started).toBe(false);
    expect(start.at(6_000).started).toBe(true);
  });

  test('at the trust dialog needs the person and is never finished', () => {
    const state = new Timeline()
      .status(455, 'blocked', { kind: 'permission', msg: 'trust this folder' })
      .at(60_000);
    expect(state).toEqual({
      agent: 'needs-you',
      reason: {
        kind: 'trust',
        message: 'Claude Code asks whether you trust this folder.',
        options: ['allow', 'deny'],
      },
      since: 455,
      started: false,
    });
  });

  test('goes on after the trust dialog', () => {
    const trusted = new Timeline()
      .status(419, 'blocked', { kind: 'permission', msg: 'trust this folder' })
      .status(1146, 'clear')
      .hook(1284, 'SessionStart', { source: 'startup' })
      .status(1384, 'idle');
    expect(trusted.at(1200).agent).toBe('idle');
    expect(trusted.at(1384)).toMatchObject({ agent: 'idle', started: true });
  });

  for (const [dialog, row, kind] of [
    ['first-run', ' Choose the text style that looks best with your terminal', 'login'],
    ['API key', '  Do you want to use this API key?', 'login'],
    ['login', '  Select login method:', 'login'],
    ['bypass', ' In Bypass Permissions mode, …   ❯ Yes, I accept', 'permission'],
    ['trust', ' Quick safety check: Is this a project you created', 'trust'],
  ] as const) {
    test(`at the ${dialog} dialog, which tells itself in no other way, is known from the screen`, () => {
      const state = new Timeline().screen(400, row).at(2_000);
      expect(state).toMatchObject({ agent: 'needs-you', reason: { kind }, started: false });
    });
  }

  test('does not believe a picture that has stood for a moment only', () => {
    expect(new Timeline().screen(100, 'Select login method:').at(700).agent).toBe('idle');
  });

  test('does not read the screen once the agent has spoken: it may write such words', () => {
    const state = new Timeline()
      .hook(456, 'SessionStart')
      .screen(400, 'Select login method:')
      .at(SILENT_START_MS + 1);
    expect(state.agent).toBe('idle');
  });

  test('that stays silent for long needs the person: unknown', () => {
    const state = new Timeline().at(SILENT_START_MS);
    expect(state).toMatchObject({ agent: 'needs-you', reason: { kind: 'unknown' } });
  });
});

describe('a turn', () => {
  test('works from the prompt on', () => {
    expect(promptedAt().at(1250)).toEqual({ agent: 'working', since: 1243, started: true });
  });

  test('works although the terminal still says idle from before the prompt', () => {
    expect(promptedAt().at(1244).agent).toBe('working');
  });

  test('is finished with Stop, before terminal and registry follow', () => {
    const done = promptedAt().hook(2539, 'Stop', { promptId: 'p1', backgroundTasks: 0 });
    expect(done.at(2540)).toEqual({ agent: 'finished', since: 2539, outcome: 'done', started: true });
    expect(done.status(2580, 'done').registry(2591, 'idle').at(2600).agent).toBe('finished');
  });

  test('that is interrupted ends though no hook fires: terminal and registry say idle', () => {
    const interrupted = promptedAt().status(3083, 'idle').registry(3127, 'idle');
    expect(interrupted.at(3100).agent).toBe('working');
    expect(interrupted.at(3127)).toEqual({
      agent: 'finished',
      since: 3127,
      outcome: 'interrupted',
      started: true,
    });
  });

  test('that is interrupted is known from the transcript alone', () => {
    const interrupted = promptedAt().transcript(2990, {
      promptAt: 1240,
      interruptAt: 2980,
      activityAt: 2000,
    });
    expect(interrupted.at(3000)).toMatchObject({ agent: 'finished', outcome: 'interrupted' });
  });

  test('is not ended by an interruption of an earlier one', () => {
    const working = promptedAt().transcript(1200, { promptAt: 500, interruptAt: 900 });
    expect(working.at(2000).agent).toBe('working');
  });

  test('whose Stop was lost is finished when terminal and registry say so', () => {
    const lost = promptedAt().status(2580, 'done').registry(2591, 'idle');
    expect(lost.at(2600)).toMatchObject({ agent: 'finished', outcome: 'done' });
  });

  test('whose prompt another hook refused ends when nothing has shown it for a while', () => {
    const refused = new Timeline()
      .hook(659, 'SessionStart', { source: 'startup' })
      .registry(972, 'idle')
      .status(1123, 'idle')
      .hook(1243, 'UserPromptSubmit', { promptId: 'p1' });
    expect(refused.at(2_000).agent).toBe('working');
    expect(refused.at(7_000).agent).toBe('finished');
  });

  test('goes on when a Stop hook of the person makes the agent continue', () => {
    const continued = promptedAt()
      .hook(2539, 'Stop', { promptId: 'p1', backgroundTasks: 0 })
      .hook(2700, 'PreToolUse', { ...bash, toolUseId: 't2' });
    expect(continued.at(2710).agent).toBe('working');
  });

  test('is not reopened by a tool result that comes after the Stop', () => {
    const late = promptedAt()
      .hook(1423, 'PreToolUse', { ...bash, toolUseId: 't1' })
      .hook(2539, 'Stop', { promptId: 'p1', backgroundTasks: 0 })
      .hook(2541, 'PostToolUse', { ...bash, toolUseId: 't1' });
    expect(late.at(2545).agent).toBe('finished');
  });

  test('goes on with background work after its Stop, until that is over', () => {
    const background = promptedAt()
      .hook(1942, 'Stop', { promptId: 'p1', backgroundTasks: 1 })
      .status(2050, 'working', { msg: '1 shell still running' })
      .registry(2061, 'shell');
    expect(background.at(9_000)).toMatchObject({ agent: 'working', since: 1942 });
    background
      .status(9_186, 'working')
      .hook(9_225, 'UserPromptSubmit', { promptId: 'p2', prompt: '<task-notification>…' })
      .registry(9_229, 'busy')
      .hook(9_284, 'Stop', { promptId: 'p2', backgroundTasks: 0 })
      .status(9_316, 'done')
      .registry(9_329, 'idle');
    expect(background.at(9_290)).toMatchObject({ agent: 'finished', outcome: 'done' });
    expect(background.at(9_400).agent).toBe('finished');
  });

  test('with background work that was killed without a word is over when everything rests', () => {
    const killed = promptedAt()
      .hook(1942, 'Stop', { promptId: 'p1', backgroundTasks: 1 })
      .registry(2061, 'shell')
      .status(5_000, 'done')
      .registry(5_010, 'idle');
    expect(killed.at(5_020)).toMatchObject({ agent: 'finished', outcome: 'done' });
  });

  test('is not needed by the reminder that the CLI sends long after a Stop', () => {
    const reminded = promptedAt()
      .hook(2539, 'Stop', { promptId: 'p1', backgroundTasks: 0 })
      .status(2580, 'done')
      .registry(2591, 'idle')
      .hook(62_539, 'Notification', { notificationType: 'agent_needs_input', message: 'Waiting for you' });
    expect(reminded.at(63_000).agent).toBe('finished');
  });

  test('of the CLI itself, such as compaction, works by the terminal and ends by it', () => {
    const compacted = promptedAt()
      .hook(2000, 'Stop', { promptId: 'p1', backgroundTasks: 0 })
      .status(2040, 'done')
      .registry(2050, 'idle')
      .status(10_170, 'working')
      .registry(10_192, 'busy')
      .hook(10_264, 'SessionStart', { source: 'compact' });
    expect(compacted.at(10_280).agent).toBe('working');
    compacted.status(10_307, 'done').registry(10_325, 'idle');
    expect(compacted.at(10_330)).toMatchObject({ agent: 'finished', outcome: 'done' });
  });

  test('is not working for ever when only an old report says so', () => {
    const stale = promptedAt()
      .hook(2539, 'Stop', { promptId: 'p1', backgroundTasks: 0 })
      .status(2545, 'working')
      .registry(6_000, 'idle');
    expect(stale.at(6_001).agent).toBe('finished');
  });

  test('ends with /clear, and the agent is idle in a conversation of its own', () => {
    const cleared = promptedAt()
      .hook(2539, 'Stop', { promptId: 'p1', backgroundTasks: 0 })
      .status(2580, 'done')
      .hook(3461, 'SessionEnd', { endReason: 'clear' })
      .status(3471, 'working')
      .hook(3509, 'SessionStart', { source: 'clear', agentSessionId: 'two' })
      .status(3521, 'idle');
    expect(cleared.at(3521)).toMatchObject({ agent: 'idle', since: 3509 });
    expect(cleared.at(3521).outcome).toBeUndefined();
  });
});

describe('a permission', () => {
  test('needs the person from the moment of the request, with tool and input', () => {
    expect(askedForPermission().at(1478)).toEqual({
      agent: 'needs-you',
      reason: { kind: 'permission', message: 'Bash: touch made.txt', tool: 'Bash', call: 't1', input: touch },
      since: 1477,
      started: true,
    });
  });

  test('is told with tool and input when the terminal is faster than the request', () => {
    const faster = promptedAt()
      .hook(1423, 'PreToolUse', { ...bash, toolUseId: 't1' })
      .status(1440, 'blocked', { kind: 'permission', msg: 'approve Bash: touch made.txt' });
    expect(faster.at(1441).reason).toMatchObject({ kind: 'permission', tool: 'Bash', input: touch });
  });

  /** The first was denied with words, and the model asks for the next: no hook tells of that, the transcript late. */
  const deniedThenAsked = (msg: string, kind = 'permission') =>
    askedForPermission()
      .status(1900, 'working')
      .registry(1910, 'busy')
      .status(2500, 'blocked', { kind, msg });

  test('is not one that was denied, when the terminal tells of the next one first', () => {
    const next = deniedThenAsked('approve Bash: rm made.txt');
    expect(next.at(2501).reason).toEqual({ kind: 'permission', message: 'Bash: rm made.txt', tool: 'Bash' });
    const remove = { ...bash, toolInput: { command: 'rm made.txt' } };
    next.hook(2490, 'PreToolUse', { ...remove, toolUseId: 't2' });
    expect(next.at(2510).reason).toMatchObject({ call: 't2', input: { command: 'rm made.txt' } });
    next.hook(2530, 'PermissionRequest', remove);
    expect(next.at(2540).reason).toMatchObject({ call: 't2', input: { command: 'rm made.txt' } });
  });

  test.each([
    ['approve Update: /work/README.md', { tool: 'Update' }],
    ['approve db - query (MCP)', {}],
    ['approve Web Search', {}],
  ])('is not one that was denied, when %s follows', (msg, tool) => {
    const message = msg.replace('approve ', '');
    expect(deniedThenAsked(msg).at(2501).reason).toEqual({ kind: 'permission', message, ...tool });
  });

  test('is not one that was denied, when a question or a plan follows', () => {
    expect(deniedThenAsked('answer: Which? (A · B)', 'question').at(2501).reason).toMatchObject({
      kind: 'question',
      message: 'Which? (A · B)',
    });
    expect(deniedThenAsked('approve plan').at(2501).reason).toMatchObject({ kind: 'plan' });
  });

  test('of a tool that the terminal only names is not the one before of the same tool', () => {
    const query = { promptId: 'p1', toolName: 'mcp__db__query', toolInput: { sql: 'select 1' } };
    const asked = { kind: 'permission', msg: 'approve db - query (MCP)' };
    const first = promptedAt()
      .hook(1423, 'PreToolUse', { ...query, toolUseId: 't1' })
      .hook(1477, 'PermissionRequest', query)
      .status(1506, 'blocked', asked);
    expect(first.at(1600).reason).toMatchObject({ call: 't1', input: { sql: 'select 1' } });
    first.status(1900, 'working').status(2500, 'blocked', asked);
    expect(first.at(2501).reason).toEqual({ kind: 'permission', message: 'db - query (MCP)' });
    const drop = { ...query, toolInput: { sql: 'drop table t' } };
    first.hook(2510, 'PreToolUse', { ...drop, toolUseId: 't2' }).hook(2530, 'PermissionRequest', drop);
    expect(first.at(2540).reason).toMatchObject({ call: 't2', input: { sql: 'drop table t' } });
  });

  test('stays what it is when its dialog is drawn again in other words', () => {
    const questions = ['Which?', 'Or which?'].map((question) => ({ question, options: [] }));
    const ask = { promptId: 'p1', toolName: 'AskUserQuestion', toolInput: { questions } };
    const both = promptedAt()
      .hook(1423, 'PreToolUse', { ...ask, toolUseId: 't1' })
      .hook(1477, 'PermissionRequest', ask)
      .status(1506, 'blocked', { kind: 'question', msg: 'answer: Which? (A · B)' })
      .status(3000, 'blocked', { kind: 'question', msg: 'answer: Or which? (C · D)' });
    expect(both.at(3001).reason).toMatchObject({ call: 't1' });
  });

  test('that waited behind the one of another agent is told with all that is known of it', () => {
    const both = askedForPermission().hook(1700, 'PermissionRequest', {
      ...bash,
      agentId: 'sub',
      toolInput: { command: 'mkdir b' },
    });
    both
      .status(2400, 'working')
      .status(2500, 'blocked', { kind: 'permission', msg: 'approve Bash: mkdir b' });
    expect(both.at(2501).reason).toMatchObject({ message: 'Bash: mkdir b', input: { command: 'mkdir b' } });
  });

  test('of auto mode, which fires no request, is told by the terminal', () => {
    const write = { promptId: 'p1', toolName: 'Write', toolInput: { file_path: '/x.md', content: '' } };
    const auto = promptedAt()
      .hook(1423, 'PreToolUse', { ...write, toolUseId: 't1' })
      .status(1480, 'blocked', { kind: 'permission', msg: 'approve Updated plan: /x.md' });
    expect(auto.at(9_000).reason).toMatchObject({
      kind: 'permission',
      tool: 'Write',
      message: 'Write: /x.md',
    });
  });

  test('is needed for days: no time makes it go away', () => {
    expect(askedForPermission().at(3 * 24 * 3600 * 1000).agent).toBe('needs-you');
  });

  test('ends with the result of the tool', () => {
    const allowed = askedForPermission()
      .status(2345, 'working')
      .registry(2392, 'busy')
      .hook(2431, 'PostToolUse', { ...bash, toolUseId: 't1' });
    expect(allowed.at(2344).agent).toBe('needs-you');
    expect(allowed.at(2350).agent).toBe('needs-you');
    expect(allowed.at(2392).agent).toBe('working');
    expect(allowed.at(2431).agent).toBe('working');
  });

  test('that is declined has no hook: terminal and registry end it, and the turn', () => {
    const declined = askedForPermission().status(2919, 'idle').registry(2960, 'idle');
    expect(declined.at(2920).agent).toBe('needs-you');
    expect(declined.at(2960)).toMatchObject({ agent: 'finished', outcome: 'interrupted' });
  });

  test('that is declined with a message ends, and the turn goes on', () => {
    const told = askedForPermission().status(3636, 'working').registry(3670, 'busy');
    expect(told.at(3670).agent).toBe('working');
    expect(told.hook(3739, 'Stop', { promptId: 'p1', backgroundTasks: 0 }).at(3740).agent).toBe('finished');
  });

  test('ends by the transcript, which holds its result', () => {
    const asked = promptedAt()
      .hook(1423, 'PreToolUse', { ...bash, toolUseId: 't1' })
      .hook(1477, 'PermissionRequest', bash);
    expect(asked.transcript(2000, { finishedCalls: ['t0'] }).at(2000).agent).toBe('needs-you');
    expect(asked.transcript(3000, { finishedCalls: ['t0', 't1'] }).at(3000).agent).toBe('working');
  });

  test('does not end by words that are older than the request', () => {
    const early = promptedAt()
      .hook(1423, 'PreToolUse', { ...bash, toolUseId: 't1' })
      .hook(1477, 'PermissionRequest', bash);
    expect(early.at(1480).agent).toBe('needs-you');
    expect(early.at(5_000).agent).toBe('needs-you');
  });

  test('that a hook of the person settled ends when no dialog has shown for a while', () => {
    const settled = promptedAt()
      .hook(1423, 'PreToolUse', { ...bash, toolUseId: 't1' })
      .hook(1477, 'PermissionRequest', bash);
    expect(settled.at(7_000).agent).toBe('working');
  });

  test('of a subagent survives the Stop of its parent and a report of work that crossed it', () => {
    const sub = { ...bash, agentId: 'sub' };
    const asked = promptedAt()
      .hook(1727, 'PreToolUse', { ...sub, toolUseId: 't3' })
      .hook(1731, 'Stop', { promptId: 'p1', backgroundTasks: 1 })
      .hook(1818, 'PermissionRequest', sub)
      .status(1832, 'working')
      .status(1857, 'blocked', { kind: 'permission', msg: 'approve Bash: touch made.txt' })
      .registry(1886, 'waiting', 'permission prompt');
    expect(asked.at(1840)).toMatchObject({ agent: 'needs-you', reason: { tool: 'Bash' } });
    expect(asked.at(2_000).agent).toBe('needs-you');
    asked
      .status(2882, 'working')
      .registry(2907, 'busy')
      .hook(2927, 'PostToolUse', { ...sub, toolUseId: 't3' });
    expect(asked.at(2930).agent).toBe('working');
  });

  test('of one agent does not end with the tool of another', () => {
    const two = askedForPermission().hook(1600, 'PostToolUse', { ...bash, agentId: 'sub', toolUseId: 't9' });
    expect(two.at(1601).agent).toBe('needs-you');
  });

  test('of a CLI with neither status nor registry ends with the Stop', () => {
    const bare = new Timeline()
      .hook(100, 'SessionStart')
      .hook(1243, 'UserPromptSubmit', { promptId: 'p1' })
      .hook(1423, 'PreToolUse', { ...bash, toolUseId: 't1' })
      .hook(1477, 'PermissionRequest', bash);
    expect(bare.at(60_000).agent).toBe('needs-you');
    expect(bare.hook(61_000, 'Stop', { promptId: 'p1' }).at(61_001).agent).toBe('finished');
  });
});

describe('other needs', () => {
  test('a question carries its choices', () => {
    const input = {
      questions: [{ question: 'Which color?', options: [{ label: 'Red' }, { label: 'Blue' }] }],
    };
    const ask = { promptId: 'p1', toolName: 'AskUserQuestion', toolInput: input };
    const asked = promptedAt()
      .hook(1345, 'PreToolUse', { ...ask, toolUseId: 't1' })
      .hook(1375, 'PermissionRequest', ask);
    expect(asked.at(1376).reason).toEqual({
      kind: 'question',
      message: 'Which color?',
      call: 't1',
      tool: 'AskUserQuestion',
      input,
      options: ['Red', 'Blue'],
    });
  });

  test('a plan waits for approval', () => {
    const plan = { promptId: 'p1', toolName: 'ExitPlanMode', toolInput: {} };
    const asked = promptedAt()
      .hook(1395, 'PreToolUse', { ...plan, toolUseId: 't1' })
      .hook(1425, 'PermissionRequest', plan)
      .status(1439, 'blocked', { kind: 'permission', msg: 'approve plan' });
    expect(asked.at(1500).reason).toMatchObject({ kind: 'plan' });
  });

  test('an API error needs the person until a prompt or the agent goes on', () => {
    const failed = promptedAt()
      .hook(2225, 'StopFailure', { promptId: 'p1', error: 'server_error', lastMessage: 'API Error: 500' })
      .status(2276, 'error', { msg: 'API Error: 500' })
      .registry(2288, 'idle');
    expect(failed.at(2226)).toEqual({
      agent: 'needs-you',
      reason: { kind: 'api-error', message: 'API Error: 500' },
      since: 2225,
      outcome: 'failed',
      started: true,
    });
    expect(failed.at(90_000).agent).toBe('needs-you');
    failed.hook(91_000, 'UserPromptSubmit', { promptId: 'p2' }).status(91_020, 'working');
    expect(failed.at(91_001).agent).toBe('working');
  });

  test('a missing login needs the person to sign in, and is over when the terminal is', () => {
    const out = promptedAt()
      .hook(1662, 'StopFailure', {
        promptId: 'p1',
        error: 'authentication_failed',
        lastMessage: 'Not logged in · Please run /login',
      })
      .status(1732, 'blocked', { kind: 'auth', msg: 'Not logged in · Please run /login' })
      .registry(1772, 'idle');
    expect(out.at(1663).reason).toMatchObject({ kind: 'login' });
    expect(out.at(9_000)).toMatchObject({ reason: { kind: 'login' }, outcome: 'failed' });
    expect(out.status(9_500, 'idle').at(9_501)).toMatchObject({ agent: 'finished', outcome: 'failed' });
  });

  test('a dialog that only the registry tells of is one, until it is closed', () => {
    const opened = promptedAt()
      .hook(2539, 'Stop', { promptId: 'p1', backgroundTasks: 0 })
      .status(2580, 'done')
      .registry(2591, 'idle')
      .registry(4115, 'waiting', 'dialog open');
    const message = 'A dialog of the agent is open in its terminal.';
    expect(opened.at(5_000)).toMatchObject({
      agent: 'needs-you',
      reason: { kind: 'unknown', message },
      since: 4115,
    });
    const blocked = promptedAt().status(4_115, 'blocked', { msg: 'dialog open' });
    expect(blocked.at(5_000)).toMatchObject({ agent: 'needs-you', reason: { kind: 'unknown', message } });
    expect(opened.registry(6_000, 'idle').at(6_000)).toMatchObject({ agent: 'finished', outcome: 'done' });
  });

  test('a state of the registry that was never seen before is unknown, never working', () => {
    const strange = promptedAt()
      .hook(2539, 'Stop', { promptId: 'p1', backgroundTasks: 0 })
      .status(2580, 'done')
      .registry(4_000, 'meditating');
    expect(strange.at(4_001).reason).toEqual({
      kind: 'unknown',
      message: 'The agent reports a state that is not known: meditating',
    });
  });

  test('what the agent says is shown on one line, without what could move the cursor', () => {
    const evil = { command: 'echo \u001b[2J\nrm -rf \u202e/' };
    const asked = promptedAt().hook(1477, 'PermissionRequest', { ...bash, toolInput: evil });
    expect(asked.at(1478).reason?.message).toBe('Bash: echo  [2J rm -rf  /');
  });
});

describe('without hooks', () => {
  test('terminal and registry tell a whole turn', () => {
    const bare = new Timeline().registry(972, 'idle').status(1123, 'idle');
    expect(bare.at(1200)).toMatchObject({ agent: 'idle', started: true });
    bare.status(1265, 'working').registry(1287, 'busy');
    expect(bare.at(1300).agent).toBe('working');
    bare.status(1506, 'blocked', { kind: 'permission', msg: 'approve Bash: touch made.txt' });
    expect(bare.at(1600).reason).toEqual({
      kind: 'permission',
      message: 'Bash: touch made.txt',
      tool: 'Bash',
    });
    bare.status(2345, 'working').registry(2392, 'busy').status(2580, 'done').registry(2591, 'idle');
    expect(bare.at(2600)).toMatchObject({ agent: 'finished', outcome: 'done' });
  });

  test('the transcript tells an interruption', () => {
    const bare = new Timeline()
      .status(1265, 'working')
      .registry(1287, 'busy')
      .transcript(1300, { promptAt: 1240 })
      .status(3083, 'idle')
      .registry(3127, 'idle')
      .transcript(3130, { interruptAt: 3080 });
    expect(bare.at(3200)).toMatchObject({ agent: 'finished', outcome: 'interrupted' });
  });

  test('an error of the terminal is an API error', () => {
    const bare = new Timeline().status(1265, 'working').status(2276, 'error', { msg: 'API Error: 529' });
    expect(bare.at(2300)).toMatchObject({
      agent: 'needs-you',
      reason: { kind: 'api-error' },
      outcome: 'failed',
    });
  });
});

describe('the process', () => {
  const exited = (at: number, exitCode: number | null, more: { signal?: string; lastLine?: string } = {}) =>
    ({
      kind: 'exited',
      at,
      exitCode,
      signal: more.signal ?? null,
      lastLine: more.lastLine,
    }) as const;

  test('that the person ended is ended, and needs nobody', () => {
    const left = promptedAt()
      .hook(2539, 'Stop', { promptId: 'p1', backgroundTasks: 0 })
      .hook(3510, 'SessionEnd', { endReason: 'prompt_input_exit' })
      .ends(exited(3539, 0));
    expect(left.at(3540)).toEqual({ agent: 'ended', since: 3539, outcome: 'done', started: false });
  });

  test('that was killed in a turn needs the person; the turn is interrupted', () => {
    const killed = promptedAt().ends(exited(1894, null, { signal: 'SIGKILL' }));
    expect(killed.at(1895)).toEqual({
      agent: 'needs-you',
      reason: { kind: 'agent-ended', message: 'The agent ended by signal SIGKILL.' },
      since: 1894,
      outcome: 'interrupted',
      started: false,
    });
  });

  test('that failed says with what words', () => {
    const failed = new Timeline().ends(
      exited(340, 1, { lastLine: 'No conversation found with session ID: 1' }),
    );
    expect(failed.at(341).reason?.message).toBe(
      'The agent ended with exit code 1: No conversation found with session ID: 1',
    );
  });

  test('whose terminal was lost needs the person', () => {
    const lost = promptedAt().ends({ kind: 'lost', at: 5_000 });
    expect(lost.at(5_001)).toMatchObject({ agent: 'needs-you', reason: { kind: 'terminal-lost' } });
  });

  test('outranks everything that was said before its end', () => {
    expect(askedForPermission().ends(exited(2_000, 0)).at(2_001).agent).toBe('ended');
  });

  test('that is resumed after a kill leaves the turn interrupted and the agent at its prompt', () => {
    const resumed = new Timeline()
      .hook(-1_000, 'SessionStart', { source: 'startup' })
      .hook(-800, 'UserPromptSubmit', { promptId: 'p1' })
      .hook(-500, 'PreToolUse', { ...bash, toolUseId: 't1' })
      .hook(456, 'SessionStart', { source: 'resume' })
      .registry(460, 'idle');
    expect(resumed.at(470)).toMatchObject({ agent: 'idle', started: false });
    expect(resumed.status(2_400, 'idle').at(2_401)).toMatchObject({
      agent: 'finished',
      outcome: 'interrupted',
      since: -500,
    });
  });
});

describe('a state of the terminal that was never seen before', () => {
  const reason = { kind: 'unknown', message: 'The agent reports a state that is not known: dreaming' };

  test('needs the person in the middle of a turn, and never counts as work', () => {
    const dreaming = promptedAt().status(2_000, 'blocked', { reported: 'dreaming' });
    expect(dreaming.at(2_001)).toMatchObject({ agent: 'needs-you', reason, since: 2_000 });
    expect(dreaming.registry(2_050, 'busy').at(30_000)).toMatchObject({ agent: 'needs-you', reason });
  });

  test('needs the person at the start, and is over with the next that is known', () => {
    const dreaming = new Timeline().status(455, 'blocked', { reported: 'dreaming', kind: 'permission' });
    expect(dreaming.at(456)).toMatchObject({ agent: 'needs-you', reason, started: false });
    expect(dreaming.status(900, 'idle').at(901)).toMatchObject({ agent: 'idle', started: true });
  });
});
