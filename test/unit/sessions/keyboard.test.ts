import { describe, expect, it } from 'vitest';
import type { Reason } from '../../../sidecar/protocol/reason.ts';
import { giveAnswer, Keyboard } from '../../../sidecar/sessions/keyboard.ts';
import type { SessionRecord } from '../../../sidecar/sessions/record.ts';
import { SessionHome } from './session-home.ts';

const DIALOG = [' Do you want to proceed?', ' ❯ 1. Yes', '   2. No'];
const reason = (message: string): Reason => ({ kind: 'permission', message });

/** A terminal that shows one screen after the other, and what was written to it. */
function terminalWith(...screens: string[][]) {
  const written: string[] = [];
  let shown: string[] = [];
  const keyboard = new Keyboard({
    request: async (method, params) => {
      if (method === 'screen') shown = screens.shift() ?? shown;
      else written.push((params as { data: string }).data);
      return { text: shown } as never;
    },
  });
  return { keyboard, written };
}

function asking(message: string, fields: Partial<SessionRecord> = {}): SessionRecord {
  using home = new SessionHome({ agent_fact: 'needs-you', reason: reason(message), since: 1_000, ...fields });
  return home.session;
}

describe('an answer', () => {
  it('is given once the dialog is drawn', async () => {
    const { keyboard, written } = terminalWith([], [], DIALOG);
    const record = asking('Bash: ls');
    await giveAnswer(keyboard, record, 'allow', () => record);
    expect(written).toEqual(['1']);
  });

  it('is not given to what is asked since', async () => {
    for (const [now, code] of [
      [asking('Bash: rm -r .', { need: 2 }), 'answer.need-changed'],
      [asking('Bash: ls', { need: 2 }), 'answer.need-changed'],
      [asking('Bash: ls', { terminal: 'other' }), 'answer.need-changed'],
      [asking('Bash: ls', { agent_fact: 'working', reason: null }), 'answer.nothing-to-answer'],
    ] as const) {
      const { keyboard, written } = terminalWith(DIALOG);
      const given = giveAnswer(keyboard, asking('Bash: ls', { need: 1 }), 'allow', () => now);
      await expect(given).rejects.toMatchObject({ code });
      expect(written).toEqual([]);
    }
  });

  it('is given although another signal has told more of what is asked', async () => {
    const { keyboard, written } = terminalWith(DIALOG);
    const more = asking('Bash: ls -l', { need: 1, since: 1_050 });
    await giveAnswer(keyboard, asking('Bash: ls', { need: 1 }), 'allow', () => more);
    expect(written).toEqual(['1']);
  });

  it('that does not fit is refused, with what can be chosen', async () => {
    const { keyboard, written } = terminalWith(DIALOG);
    const record = asking('Which?', { reason: { ...reason('Which?'), options: ['Red', 'Blue'] } });
    const given = giveAnswer(keyboard, record, 'Green', () => record);
    await expect(given).rejects.toThrow('Red, Blue');
    expect(written).toEqual([]);
  });

  it('to what takes none is refused without a look, with what to do instead', async () => {
    const noLook = new Keyboard({
      request: async () => {
        throw new Error('the screen was read');
      },
    });
    const asks = (kind: Reason['kind'], fields: Partial<SessionRecord> = {}) =>
      asking('', { reason: { kind, message: 'What is asked' }, ...fields });
    const demand: Reason = { kind: 'login', message: 'Sign in to origin' };
    for (const [record, hint] of [
      [asks('api-error'), 'fairlead send s "Go on"'],
      [asking('', { reason: { kind: 'unknown', dialog: true, message: 'What it is' } }), 'fairlead attach s'],
      [asks('agent-ended', { life: 'sleeping', terminal: null }), 'fairlead resume s'],
      [asks('conflict', { life: 'sleeping', terminal: null }), 'fairlead show s'],
      [asking('', { reason: demand, demand }), 'fairlead attach s'],
    ] as const) {
      for (const answer of ['allow', 'maybe']) {
        await expect(giveAnswer(noLook, record, answer, () => record)).rejects.toMatchObject({
          code: 'answer.nothing-to-answer',
          message: expect.stringContaining(record.reason?.message ?? ''),
          hint: expect.stringContaining(hint),
        });
      }
    }
  });

  it('to a dialog that was read from the screen is one of its choices, while it stands there', async () => {
    const reason: Reason = {
      kind: 'unknown',
      dialog: true,
      message: 'Select color. Enter to confirm · Esc to cancel',
      options: ['Yes, red', 'Blue'],
    };
    const rule = '▔'.repeat(60);
    const shown = [
      rule,
      '  Select color',
      '  ❯ 1. Yes, red',
      '    2. Blue',
      '  Enter to confirm · Esc to cancel',
    ];
    const record = asking('', { reason });
    for (const [answer, key] of [
      ['blue', '2'],
      ['1', '1'],
      ['deny', '\u001b'],
    ] as const) {
      const { keyboard, written } = terminalWith(shown);
      await giveAnswer(keyboard, record, answer, () => record);
      expect(written).toEqual([key]);
    }
    for (const [answer, screen] of [
      ['allow', shown],
      ['Green', shown],
      ['1', shown.with(1, '  Select a color')],
      ['1', shown.with(3, '    2. Green')],
    ] as const) {
      const { keyboard, written } = terminalWith([...screen]);
      await expect(giveAnswer(keyboard, record, answer, () => record)).rejects.toThrow('Yes, red, Blue');
      expect(written).toEqual([]);
    }
  });

  it('to an agent that asks nothing is refused', async () => {
    const { keyboard } = terminalWith(DIALOG);
    for (const record of [
      asking('x', { agent_fact: 'idle', reason: null }),
      asking('x', { life: 'sleeping' }),
      asking('x', { terminal: null }),
    ]) {
      const given = giveAnswer(keyboard, record, 'allow', () => record);
      await expect(given).rejects.toMatchObject({ code: 'answer.nothing-to-answer' });
    }
  });
});
