import { describe, expect, test } from 'vitest';
import { fillArguments } from '../../../../sidecar/agents/agent.ts';
import {
  fitsAsArgument,
  launchArguments,
  MAX_PROMPT_ARGUMENT,
  promptArgument,
} from '../../../../sidecar/agents/claude/launch-arguments.ts';

describe('the arguments of claude', () => {
  test('begin a conversation under an id of ours', () => {
    expect(
      launchArguments({
        conversation: { kind: 'new', sessionId: 'id' },
        settings: '/s.json',
        mode: 'plan',
        model: 'opus',
        prompt: 'do it',
      }),
    ).toEqual([
      '--session-id',
      'id',
      '--settings',
      '/s.json',
      '--permission-mode',
      'plan',
      '--model',
      'opus',
      '--',
      'do it',
    ]);
  });

  test('go on with one, and leave out what is not wanted', () => {
    expect(
      launchArguments({
        conversation: { kind: 'resume', sessionId: 'id' },
        settings: '{}',
        mode: null,
        model: null,
      }),
    ).toEqual(['--resume', 'id', '--settings', '{}']);
  });

  test('do not confuse text of a prompt with a placeholder', () => {
    const prompt = 'replace {session} and {model}';
    expect(
      launchArguments({ conversation: { kind: 'new', sessionId: 'id' }, settings: '{}', prompt }).at(-1),
    ).toBe(prompt);
  });

  test.each([
    ['add a greeting', 'add a greeting'],
    ['-x', '-x'],
    ['!ls', '!ls'],
    ['/clear', ' /clear'],
    ['/frobnicate it', ' /frobnicate it'],
    ['mcp', ' mcp'],
    ['setup-token', ' setup-token'],
    ['Hello', 'Hello'],
    ['a\0b c', 'ab c'],
  ])('pass the prompt %j as %j', (prompt, argument) => {
    expect(promptArgument(prompt)).toBe(argument);
  });

  test('take a prompt up to what the system takes for one argument, in bytes', () => {
    expect(fitsAsArgument('x'.repeat(MAX_PROMPT_ARGUMENT))).toBe(true);
    expect(fitsAsArgument('日'.repeat(MAX_PROMPT_ARGUMENT / 3 + 1))).toBe(false);
  });
});

describe('argument groups', () => {
  test('are left out as a whole when a value is missing, also after words that were filled', () => {
    expect(fillArguments([['-a', '{x}', '{y}'], ['{x}-z']], { x: '1' })).toEqual(['1-z']);
  });
});
