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
