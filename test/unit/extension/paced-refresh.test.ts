import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PacedRefresh } from '../../../extension/fleet/paced-refresh.ts';

describe('rows that are drawn anew', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function drawings(): { pace: PacedRefresh<string>; drawn: (string[] | 'all')[]; at: number[] } {
    const drawn: (string[] | 'all')[] = [];
    const at: number[] = [];
    const pace = new PacedRefresh<string>((rows) => {
      drawn.push(rows ?? 'all');
      at.push(performance.now());
    });
    return { pace, drawn, at };
  }

  it('are drawn at once when nothing was drawn a moment ago', () => {
    const { pace, drawn } = drawings();
    pace.row('a', { isUrgent: true });
    expect(drawn).toEqual([['a']]);
  });

  it('wait for the end of the moment, however many come, and then come together', () => {
    const { pace, drawn, at } = drawings();
    const began = performance.now();
    for (let n = 0; n < 30; n += 1) {
      pace.row(`row ${n % 3}`, { isUrgent: true });
      vi.advanceTimersByTime(20);
    }
    vi.advanceTimersByTime(1_000);
    expect(drawn).toEqual([['row 0'], ...Array(3).fill(expect.arrayContaining(['row 0', 'row 1', 'row 2']))]);
    // VS Code would put off what comes within 200 ms.
    const gaps = at.slice(1).map((time, index) => time - (at[index] ?? began));
    expect(Math.min(...gaps)).toBeGreaterThan(200);
  });

  it('leave the moment to what matters, and go along with it', () => {
    const { pace, drawn } = drawings();
    pace.row('costs more', { isUrgent: false });
    vi.advanceTimersByTime(50);
    expect(drawn).toEqual([]);
    pace.row('asks', { isUrgent: true });
    expect(drawn).toEqual([['costs more', 'asks']]);
    vi.advanceTimersByTime(5_000);
    expect(drawn).toHaveLength(1);
  });

  it('are drawn in the end when nothing matters more', () => {
    const { pace, drawn } = drawings();
    pace.row('costs more', { isUrgent: false });
    vi.advanceTimersByTime(5_000);
    expect(drawn).toEqual([['costs more']]);
  });

  it('come before the whole tree, which then is not kept waiting by others', () => {
    const { pace, drawn } = drawings();
    pace.row('a', { isUrgent: true });
    pace.all();
    expect(drawn).toEqual([['a']]);
    for (let n = 0; n < 40; n += 1) {
      vi.advanceTimersByTime(20);
      pace.row('b', { isUrgent: true });
    }
    expect(drawn.slice(0, 3)).toEqual([['a'], ['b'], 'all']);
    expect(drawn.filter((each) => each === 'all')).toHaveLength(1);
  });

  it('are not drawn one by one when all are', () => {
    const { pace, drawn } = drawings();
    pace.all();
    expect(drawn).toEqual(['all']);
    pace.all();
    pace.all();
    vi.advanceTimersByTime(5_000);
    expect(drawn).toEqual(['all', 'all']);
  });

  it('are drawn no more once the view is gone', () => {
    const { pace, drawn } = drawings();
    pace.all();
    pace.row('a', { isUrgent: true });
    pace.dispose();
    vi.advanceTimersByTime(5_000);
    expect(drawn).toEqual(['all']);
  });
});
