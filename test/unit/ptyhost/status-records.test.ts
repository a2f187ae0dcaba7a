import { describe, expect, test } from 'vitest';
import { StatusRecords } from '../../../sidecar/ptyhost/status-records.ts';

describe('the records of a terminal', () => {
  test('say since when a program that is blocked was something else, however often it asks', () => {
    const records = new StatusRecords();
    expect(records.add({ state: 'blocked', at: 1 })).toEqual({ state: 'blocked', at: 1 });
    expect(records.add({ state: 'blocked', at: 2 })).toEqual({ state: 'blocked', at: 2 });
    expect(records.add({ state: 'working', at: 3 })).toEqual({ state: 'working', at: 3 });
    records.add({ state: 'blocked', at: 4 });
    records.add({ state: 'blocked', id: 'child', at: 5 });
    records.add({ state: 'blocked', at: 6 });
    expect(records.list()).toEqual([
      { state: 'blocked', at: 6, freeAt: 3 },
      { state: 'blocked', id: 'child', at: 5 },
    ]);
  });

  test('are forgotten beyond 64, the oldest child first, never the own', () => {
    const records = new StatusRecords();
    records.add({ state: 'idle', at: 0 });
    for (let n = 1; n <= 70; n += 1) records.add({ state: 'working', id: `child ${n}`, at: n });
    const ids = records.list().map(({ id }) => id);
    expect(ids).toHaveLength(64);
    expect(ids.slice(0, 2)).toEqual([undefined, 'child 8']);
  });
});
