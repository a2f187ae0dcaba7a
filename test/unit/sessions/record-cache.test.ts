import { describe, expect, it } from 'vitest';
import { RecordCache } from '../../../sidecar/sessions/record-cache.ts';

describe('RecordCache', () => {
  it('reads a row once, and again after it was written', () => {
    const cache = new RecordCache<{ id: string; n: number }>({ rollbacks: 0 });
    let n = 0;
    const read = () => {
      n += 1;
      return { id: 'a', n };
    };
    expect(cache.get('a', read)).toEqual({ id: 'a', n: 1 });
    expect(cache.get('a', read)).toEqual({ id: 'a', n: 1 });
    cache.drop('a');
    expect(cache.get('a', read)).toEqual({ id: 'a', n: 2 });
  });

  it('asks again for a row that was not there', () => {
    const cache = new RecordCache<{ id: string }>({ rollbacks: 0 });
    expect(cache.get('a', () => undefined)).toBeUndefined();
    expect(cache.get('a', () => ({ id: 'a' }))).toEqual({ id: 'a' });
  });

  it('believes nothing that was read before a rollback', () => {
    const store = { rollbacks: 0 };
    const cache = new RecordCache<{ id: string; title: string }>(store);
    expect(cache.get('a', () => ({ id: 'a', title: 'never kept' })).title).toBe('never kept');
    store.rollbacks += 1;
    expect(cache.get('a', () => ({ id: 'a', title: 'kept' })).title).toBe('kept');
  });

  it('gives what nobody can change', () => {
    const cache = new RecordCache<{ id: string; title: string }>({ rollbacks: 0 });
    const record = cache.get('a', () => ({ id: 'a', title: 'x' }));
    expect(() => Object.assign(record, { title: 'y' })).toThrow(TypeError);
  });
});
