import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { composerText } from '../../../sidecar/agents/claude/dialog.ts';
import type { HookEvent } from '../../../sidecar/agents/claude/hook-event.ts';
import { clearComposerSteps, promptSteps } from '../../../sidecar/agents/claude/keys.ts';
import { launchArguments } from '../../../sidecar/agents/claude/launch-arguments.ts';
import { launchSettings } from '../../../sidecar/agents/claude/settings.ts';
import { type ClaudeHome, prepareClaude } from '../../support/claude.ts';
import { ClaudeTerminal } from '../../support/claude-terminal.ts';
import { ScriptedModel } from '../../support/model/scripted-model.ts';
import { prompt } from '../../support/model/story.ts';

let root: string;
let checkout: string;
let model: ScriptedModel;
let home: ClaudeHome;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'fairlead-prompts-'));
  checkout = join(root, 'checkout');
  mkdirSync(checkout);
  execFileSync('git', ['init', '--quiet', '--initial-branch', 'main'], { cwd: checkout });
  model = await ScriptedModel.start();
  model.when(prompt(/[\s\S]/)).says('Understood.');
  home = prepareClaude({ home: join(root, 'home'), modelUrl: model.url, trusted: [checkout] });
});

afterAll(async () => {
  await model.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  model.assertNothingUnmatched();
});

const TEXTS: [name: string, text: string][] = [
  ['one line', 'add a greeting'],
  ['several lines', 'first\n\n  second, indented\nthird\nfourth\nfifth'],
  ['letters of all kinds', 'grüße 日本語 🚀'],
  ['a leading hash', '# Title\nand a body'],
  ['a leading dash', '-x is not an option'],
  ['two leading dashes', '--help is not one either'],
  ['a leading exclamation mark', '!important: keep it'],
  ['an unknown command', '/frobnicate the thing'],
  ['a path', '/usr/bin/env is a file'],
  ['a name of a file', '@README.md is missing'],
  ['quotes and dollars', `say "it's" $HOME \`x\` \\n`],
  ['a trailing backslash', 'ends with \\'],
  ['a single word', 'mcp'],
];

const submitted = (events: readonly HookEvent[]) =>
  events.filter(({ event }) => event === 'UserPromptSubmit').map((event) => event.prompt ?? '');

describe('the first prompt arrives as it stands, as an argument', () => {
  let terminal: ClaudeTerminal;
  afterEach(() => terminal.end());

  const long = `${'日本語 and more\n'.repeat(5_000)}end`;
  for (const [name, text] of [...TEXTS, ['a hundred kilobytes', long] as const]) {
    test(name, async () => {
      const sessionId = randomUUID();
      terminal = new ClaudeTerminal({
        home,
        cwd: checkout,
        events: join(root, sessionId),
        args: launchArguments({
          conversation: { kind: 'new', sessionId },
          settings: JSON.stringify(launchSettings(join(root, sessionId))),
          mode: 'manual',
          prompt: text,
        }),
      });
      await terminal.untilState(({ agent }) => agent === 'finished');
      expect(submitted(terminal.events()).map((each) => each.trimStart())).toEqual([text]);
      const heard = model.requests.filter(({ conversation }) => conversation?.sessionId === sessionId);
      expect(heard.at(-1)?.conversation?.prompts.at(-1)?.trimStart()).toBe(text);
    });
  }
});

describe('a later prompt arrives as it stands, typed', () => {
  let terminal: ClaudeTerminal;

  beforeAll(async () => {
    terminal = new ClaudeTerminal({
      home,
      cwd: checkout,
      events: join(root, 'typed'),
      args: ['--session-id', randomUUID(), '--permission-mode', 'manual'],
    });
    await terminal.untilState(({ started }) => started);
  });
  afterAll(() => terminal.end());

  async function send(text: string): Promise<string[]> {
    const before = submitted(terminal.events()).length;
    await terminal.press(promptSteps(text, composerText(terminal.screen())));
    await terminal.until(() => submitted(terminal.events()).length > before, 'the prompt');
    await terminal.untilState(({ agent }) => agent === 'finished');
    await terminal.until(() => composerText(terminal.screen()) !== undefined, 'the composer');
    return submitted(terminal.events()).slice(before);
  }

  const long = Array.from({ length: 800 }, (_, n) => `line ${n} has some words in it`).join('\n');
  for (const [name, text] of [
    ...TEXTS,
    ['800 lines', long] as const,
    ['10,000 characters in one', 'word '.repeat(2_000)] as const,
  ]) {
    test(name, async () => {
      const arrived = await send(text);
      expect(arrived.map((each) => each.trim())).toEqual([text.trim()]);
      expect(model.requests.at(-1)?.conversation?.prompts.at(-1)?.trim()).toBe(text.trim());
    });
  }

  test('a draft of the person is put aside and comes back', async () => {
    terminal.write('my draft');
    await terminal.until(() => composerText(terminal.screen()) === 'my draft', 'the draft');
    expect((await send('in between')).map((each) => each.trim())).toEqual(['in between']);
    await terminal.until(() => composerText(terminal.screen()) === 'my draft', 'the draft again');
    await terminal.press(clearComposerSteps('my draft'));
    await terminal.until(() => composerText(terminal.screen()) === '', 'an empty composer');
  });

  test('a draft that does not fit the screen is put aside and comes back', async () => {
    const draft = Array.from({ length: 40 }, (_, n) => `line ${n} of the draft`).join('\n');
    const shown = () => composerText(terminal.screen());
    await terminal.press(promptSteps(draft).slice(0, 1));
    await terminal.until(() => shown()?.endsWith('line 39 of the draft') === true, 'the draft');
    expect((await send('in between')).map((each) => each.trim())).toEqual(['in between']);
    await terminal.until(() => shown()?.endsWith('line 39 of the draft') === true, 'the draft again');
    await terminal.press(clearComposerSteps(draft));
    await terminal.until(() => shown() === '', 'an empty composer');
  });

  test('what could act as keys is taken out', async () => {
    expect(await send('a\u001b[201~b\u0003c\u001b')).toEqual(['abc']);
  });

  test('a command of the CLI runs as one', async () => {
    const starts = () => terminal.events().filter(({ event }) => event === 'SessionStart').length;
    const before = starts();
    await terminal.press(promptSteps('/clear', composerText(terminal.screen())));
    await terminal.until(() => starts() > before, 'a new conversation');
  });
});
