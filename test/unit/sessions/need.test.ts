import { describe, expect, it } from 'vitest';
import { reasonOf } from '../../../sidecar/agents/claude/tool-summary.ts';
import type { Reason } from '../../../sidecar/protocol/reason.ts';
import { isSame, isSameNeed } from '../../../sidecar/sessions/need.ts';
import { MAX_SHOWN, shownReason } from '../../../sidecar/sessions/shown-input.ts';
import { SessionHome } from './session-home.ts';

const told: Reason = { kind: 'permission', message: 'Bash: make folders', tool: 'Bash' };
const asked = (call: string): Reason => ({
  ...told,
  message: 'Bash: mkdir a',
  call,
  input: { command: 'mkdir a' },
});
const need = (reason: Reason | null, since = 1_000) => ({ reason, since });

describe('a need', () => {
  it('is the same when the hook tells what the terminal told a moment before', () => {
    expect(isSameNeed(need(told), need(asked('t1'), 1_080))).toBe(true);
    expect(isSameNeed(need(asked('t1')), need(asked('t1'), 9_000))).toBe(true);
  });

  it('is another when another call asks, though it asks the same', () => {
    expect(isSameNeed(need(asked('t1')), need(asked('t2'), 1_001))).toBe(false);
  });

  it('is another when it is of another kind or tool, comes later, or comes after none', () => {
    expect(isSameNeed(need(told), need({ ...asked('t1'), kind: 'question' }))).toBe(false);
    expect(isSameNeed(need(told), need({ ...asked('t1'), tool: 'Write' }))).toBe(false);
    expect(isSameNeed(need(told), need(asked('t1'), 3_000))).toBe(false);
    expect(isSameNeed(need(null), need(told))).toBe(false);
  });

  it('is another when another dialog stands on the screen', () => {
    const dialog = {
      kind: 'unknown',
      dialog: true,
      message: 'Select color',
      options: ['Red', 'Blue'],
    } as const;
    const told = { ...dialog, options: [...dialog.options] };
    expect(isSameNeed(need(told), need({ ...told }))).toBe(true);
    expect(isSameNeed(need(told), need({ ...told, message: 'Select size' }))).toBe(false);
    expect(isSameNeed(need(told), need({ ...told, options: ['Red', 'Green'] }))).toBe(false);
  });
});

const question = (text: string, fields: object = {}) => ({
  question: text,
  header: 'h',
  options: [{ label: 'yes', description: 'x' }, { label: 'no' }],
  ...fields,
});
const ask = (tool: string, input: unknown): Reason =>
  shownReason(reasonOf({ agentId: null, tool, input, inputKey: '', toolUseId: 't1', at: 0 }));

describe('a need that was stored', () => {
  it.each([
    ['a question', ask('AskUserQuestion', { questions: [question('Which?')] })],
    ['two questions', ask('AskUserQuestion', { questions: [question('Which?'), question('When?')] })],
    [
      'one that takes several options',
      ask('AskUserQuestion', { questions: [question('Which?', { multiSelect: true })] }),
    ],
    [
      'one of which only the beginning is kept',
      ask('AskUserQuestion', { questions: [question('Which?', { header: 'h'.repeat(2 * MAX_SHOWN) })] }),
    ],
    ['a call without input', ask('Bash', undefined)],
    ['a call with strange input', ask('Bash', { b: -0, a: [undefined, '\ud800'], ['__proto__']: { c: 1 } })],
  ])('is the one that was told: %s', (_what, told) => {
    using home = new SessionHome();
    home.table.update('s', { reason: told });
    const { reason } = home.session;
    expect(isSame(told, reason)).toBe(true);
    expect(isSameNeed(need(told), need(reason, 9_000))).toBe(true);
    expect(isSame({ ...told, call: 't2' }, reason)).toBe(false);
    expect(isSame(null, reason)).toBe(false);
  });
});
