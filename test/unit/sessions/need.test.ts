import { describe, expect, it } from 'vitest';
import type { Reason } from '../../../sidecar/protocol/reason.ts';
import { isSameNeed } from '../../../sidecar/sessions/need.ts';

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
});
