import { describe, expect, it } from 'vitest';
import { AgentCheck } from '../../../extension/fleet/agent-check.ts';

/** A Doctor that finds `claude` in these states, one after the other; an error is a question that fails. */
function scene(...answers: ('ok' | 'problem' | 'fails')[]) {
  let changes = 0;
  let asked = 0;
  const check = new AgentCheck(
    {
      requestIfConnected: async (): Promise<never> => {
        const state = answers[asked];
        asked += 1;
        if (state === 'fails' || state === undefined) throw new Error('lost');
        return [{ check: 'claude', state, found: '', hint: null }] as never;
      },
    },
    () => {
      changes += 1;
    },
  );
  const ask = async () => {
    check.ask();
    await new Promise((resolve) => setImmediate(resolve));
    return [check.isMissing, asked, changes];
  };
  return { check, ask };
}

describe('whether the agent is there', () => {
  it('is asked once, and again when it may have come', async () => {
    const { check, ask } = scene('problem', 'ok');
    expect(await ask()).toEqual([true, 1, 1]);
    expect(await ask()).toEqual([true, 1, 1]);
    check.forget();
    expect(await ask()).toEqual([false, 2, 2]);
  });

  it('is asked again when nobody could be asked', async () => {
    const { ask } = scene('fails', 'problem');
    expect(await ask()).toEqual([false, 1, 0]);
    expect(await ask()).toEqual([true, 2, 1]);
  });
});
