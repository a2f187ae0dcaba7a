import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { composerText, dialogOptions, hasHiddenOptions } from '../../../../sidecar/agents/claude/dialog.ts';
import { answerSteps, clearComposerSteps, promptSteps } from '../../../../sidecar/agents/claude/keys.ts';
import { SCREENS } from './screens.ts';

const labels = (screen: readonly string[]) => dialogOptions(screen).map(({ label }) => label);
const keys = (steps: ReturnType<typeof answerSteps>) => steps?.map((step) => step.keys);
const ask = (...questions: { question: string; multiSelect?: boolean; options: string[] }[]) => ({
  questions: questions.map(({ options, ...rest }) => ({
    ...rest,
    options: options.map((label) => ({ label })),
  })),
});

describe('a dialog', () => {
  test('of a permission has numbered choices', () => {
    expect(dialogOptions(SCREENS.permission)).toMatchObject([
      { label: 'Yes', number: 1, selected: true, ticked: null },
      { number: 2 },
      { number: 3 },
      { label: 'No', number: 4, selected: false },
    ]);
  });

  test('is read past wrapped lines in a narrow terminal', () => {
    expect(dialogOptions(SCREENS.narrowPermission).map(({ number }) => number)).toEqual([1, 2, 3, 4]);
  });

  test('has choices for which a terminal is too low', () => {
    const low = [
      ' Do you want to proceed?',
      ' ❯ 1. Yes',
      '   2. Yes, always',
      ' ↓ 3. Yes, and go on',
      ' ↑ 17 more lines',
    ];
    expect(labels(low)).toEqual(['Yes', 'Yes, always', 'Yes, and go on']);
    expect(hasHiddenOptions(low)).toBe(true);
    expect(hasHiddenOptions(SCREENS.permission)).toBe(false);
    expect(keys(answerSteps(low, { kind: 'allow' }))).toEqual(['', '1']);
    expect(answerSteps(low, { kind: 'deny', message: 'no' })).toBeUndefined();
  });

  test('of trust begins with the choice that ends the agent', () => {
    expect(labels(SCREENS.trust)).toEqual(['No, exit', 'Yes, I trust this folder']);
  });

  test('of a question is read past descriptions and the rule before the last choice', () => {
    expect(labels(SCREENS.question)).toEqual(['Red', 'Blue', 'Type something.', 'Chat about this']);
    expect(labels(SCREENS.questionText)).toEqual(['Red', 'Blue', 'a deep green', 'Chat about this']);
  });

  test('of several answers tells what is ticked', () => {
    expect(dialogOptions(SCREENS.severalQuestions).map(({ ticked }) => ticked)).toEqual([
      true,
      false,
      false,
      null,
    ]);
  });

  test('is none where the composer stands, whatever was said above it', () => {
    for (const screen of [SCREENS.draft, SCREENS.emptyComposer, SCREENS.placeholder, SCREENS.shellMode]) {
      expect(dialogOptions(['❯ 1. a prompt of before', '  2. that looks like choices', ...screen])).toEqual(
        [],
      );
    }
  });

  test('is none on an empty screen', () => {
    expect(dialogOptions([])).toEqual([]);
    expect(dialogOptions(['', '❯ hello'])).toEqual([]);
  });
});

describe('the composer', () => {
  test('holds the draft, all its lines', () => {
    expect(composerText(SCREENS.draft)).toBe('line one\nline two');
  });

  test('is empty when it shows only a hint', () => {
    expect(composerText(SCREENS.emptyComposer)).toBe('');
    expect(composerText(SCREENS.placeholder)).toBe('');
  });

  test('has a no-break space behind its mark', () => {
    expect(composerText(SCREENS.draft.map((row) => row.replace('❯ ', '❯\u00a0')))).toBe('line one\nline two');
  });

  test('is there though its first lines do not fit, as empty ones', () => {
    expect(composerText(SCREENS.highDraft)).toBe('\n\nline three\nline four');
    expect(dialogOptions(SCREENS.highDraft)).toEqual([]);
  });

  test('is there though it begins above the screen', () => {
    const rows = SCREENS.highDraft.slice(SCREENS.highDraft.indexOf('  line three'));
    expect(composerText(rows)).toBe('\nline three\nline four');
    expect(composerText(['● Hi.', ...rows])).toBeUndefined();
    expect(composerText(['  indented', ...SCREENS.permission.slice(3)])).toBeUndefined();
  });

  test('is covered by a dialog', () => {
    expect(composerText(SCREENS.permission)).toBeUndefined();
    expect(composerText(SCREENS.question)).toBeUndefined();
  });
});

describe('the keys of an answer', () => {
  test('begin with a pause, since a dialog is drawn before it takes keys', () => {
    expect(answerSteps(SCREENS.permission, { kind: 'allow' })?.[0]).toMatchObject({ keys: '', pauseMs: 500 });
  });

  test.each([
    ['allow, by its digit', SCREENS.permission, { kind: 'allow' }, ['', '1']],
    ['deny, by its digit', SCREENS.permission, { kind: 'deny' }, ['', '4']],
    ['a number', SCREENS.permission, { kind: 'text', text: '3' }, ['', '3']],
    ['a label', SCREENS.permission, { kind: 'text', text: 'no' }, ['', '4']],
    [
      'allow, by moving, where choices have no digit',
      SCREENS.trust,
      { kind: 'allow' },
      ['', '\u001b[B', '\r'],
    ],
    ['deny, where it is chosen already', SCREENS.trust, { kind: 'deny' }, ['', '\r']],
    ['allow the mode that bypasses permissions', SCREENS.bypass, { kind: 'allow' }, ['', '\u001b[B', '\r']],
    ['allow what auto mode could not judge', SCREENS.autoMode, { kind: 'allow' }, ['', '\u001b[B', '\r']],
    ['allow an empty plan', SCREENS.plan, { kind: 'allow' }, ['', '1']],
    ['allow a plan, so that edits are asked for', SCREENS.writtenPlan, { kind: 'allow' }, ['', '2']],
    ['a plan and the mode that asks less', SCREENS.writtenPlan, { kind: 'text', text: '1' }, ['', '1']],
    ['deny a plan', SCREENS.writtenPlan, { kind: 'deny' }, ['', '\u001b']],
    [
      'say what to change of a plan',
      SCREENS.writtenPlan,
      { kind: 'deny', message: 'use\nbricks' },
      ['', '3', '\u001b[200~use bricks\u001b[201~', '\r'],
    ],
    ['deny the API key', SCREENS.apiKey, { kind: 'deny' }, ['', '\r']],
    ['allow the API key', SCREENS.apiKey, { kind: 'allow' }, ['', '\u001b[A', '\r']],
  ] as const)('%s', (_, screen, answer, expected) => {
    expect(keys(answerSteps(screen, answer))).toEqual(expected);
  });

  test('press Enter only when the choice is the marked one', () => {
    expect(answerSteps(SCREENS.trust, { kind: 'allow' })?.at(-1)?.expect).toBe('❯ Yes, I trust this folder');
  });

  test('deny with a message in the field behind the choice', () => {
    const steps = answerSteps(SCREENS.permission, { kind: 'deny', message: 'use\nanother' });
    expect(keys(steps)).toEqual([
      '',
      '\u001b[B',
      '\u001b[B',
      '\u001b[B',
      '\t',
      '\u001b[200~use another\u001b[201~',
      '\r',
    ]);
  });

  test('are none for a choice that is not there, and without a dialog', () => {
    expect(answerSteps(SCREENS.permission, { kind: 'text', text: 'maybe' })).toBeUndefined();
    expect(answerSteps(SCREENS.login, { kind: 'allow' })).toBeUndefined();
    expect(answerSteps(SCREENS.emptyComposer, { kind: 'allow' })).toBeUndefined();
  });

  const color = ask({ question: 'Which color?', options: ['Red', 'Blue'] });
  test.each([
    ['a label', 'blue', ['', '2']],
    ['a number', '1', ['', '1']],
    ['free text', 'a deep green', ['', '3', '\u001b[200~a deep green\u001b[201~', '\r']],
  ])('choose in a question by %s', (_, text, expected) => {
    expect(keys(answerSteps(SCREENS.question, { kind: 'text', text }, color))).toEqual(expected);
  });

  test('tick several answers, go on, and submit what is shown', () => {
    const colors = ask({ question: 'Which colors?', multiSelect: true, options: ['Red', 'Blue'] });
    const steps = answerSteps(SCREENS.severalQuestions, { kind: 'text', text: 'Red, blue' }, colors);
    expect(keys(steps)).toEqual(['', '1', '2', '\t', '\r']);
    expect(steps?.at(-1)?.expect).toBe('Submit answers');
  });

  test('answer several questions, one line each, and none when a line is missing', () => {
    const two = ask(
      { question: 'Which color?', options: ['Red', 'Blue'] },
      { question: 'Which size?', options: ['S', 'L'] },
    );
    expect(keys(answerSteps(SCREENS.question, { kind: 'text', text: 'Blue\nL' }, two))).toEqual([
      '',
      '2',
      '2',
      '\r',
    ]);
    expect(answerSteps(SCREENS.question, { kind: 'text', text: 'Blue' }, two)).toBeUndefined();
  });

  test('decline a question with Esc', () => {
    expect(keys(answerSteps(SCREENS.question, { kind: 'deny' }, color))).toEqual(['', '\u001b']);
  });
});

describe('the keys of a prompt', () => {
  const typed = (text: string) => {
    const [paste, enter] = promptSteps(text);
    expect(enter?.keys).toBe('\r');
    return (paste?.keys ?? '')
      .split('\u001b[200~')
      .slice(1)
      .map((piece) => {
        expect(piece.endsWith('\u001b[201~')).toBe(true);
        return piece.slice(0, -'\u001b[201~'.length);
      });
  };

  test('paste pieces that the CLI shows as typed, and nothing else', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), fc.nat(40), (text, lines) => {
        const pieces = typed(text + '\nmore'.repeat(lines));
        for (const piece of pieces) {
          expect(piece.length).toBeLessThanOrEqual(702);
          expect(piece.split('\r').length).toBeLessThanOrEqual(3);
          expect(piece).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/);
        }
      }),
    );
  });

  test('keep the text, but for white space at the end', () => {
    expect(typed('one\n\n  two\nthree\nfour  \n').join('')).toBe('one\r\r  two\rthree\rfour');
  });

  test.each([
    ['/clear', ' /clear'],
    ['!ls', ' !ls'],
    ['#1', '#1'],
    ['ends with \\', 'ends with \\ '],
  ])('type %j as %j', (text, expected) => {
    expect(typed(text)).toEqual([expected]);
  });

  test('put a draft aside first', () => {
    expect(promptSteps('go on', 'my draft').map((step) => step.keys)).toEqual([
      '\u0013',
      '\u001b[200~go on\u001b[201~',
      '\r',
    ]);
  });

  test('empty a composer of several lines', () => {
    expect(clearComposerSteps('one\ntwo').map((step) => step.keys)).toEqual(['\u0015'.repeat(4)]);
  });
});
