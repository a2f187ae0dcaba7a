import { describe, expect, it } from 'vitest';
import { RecordCache } from '../../../sidecar/sessions/record-cache.ts';
import { SessionTable } from '../../../sidecar/sessions/table.ts';
import { SessionHome } from './session-home.ts';

describe('RecordCache', () => {
  it('reads a row once, and again after anything was written', () => {
    const store = { version: 0 };
    const cache = new RecordCache<{ id: string; n: number }>(store);
    let n = 0;
    const read = () => {
      n += 1;
      return { id: 'a', n };
    };
    expect(cache.get('a', read)).toEqual({ id: 'a', n: 1 });
    expect(cache.get('a', read)).toEqual({ id: 'a', n: 1 });
    store.version += 1;
    expect(cache.get('a', read)).toEqual({ id: 'a', n: 2 });
  });

  it('asks again for a row that was not there', () => {
    const cache = new RecordCache<{ id: string }>({ version: 0 });
    expect(cache.get('a', () => undefined)).toBeUndefined();
    expect(cache.get('a', () => ({ id: 'a' }))).toEqual({ id: 'a' });
  });
});

describe('a session that is read', () => {
  it('is as it was written, whoever wrote it', () => {
    using home = new SessionHome();
    expect(home.table.get('s').title).toBe('A session');
    home.table.update('s', { title: 'Renamed' });
    expect(home.table.get('s').title).toBe('Renamed');
    new SessionTable(home.store).update('s', { title: 'By another' });
    expect(home.table.get('s').title).toBe('By another');
    home.table.remove('s');
    expect(home.table.find('s')).toBeUndefined();
  });

  it('is not as a transaction had it that was rolled back', () => {
    using home = new SessionHome();
    const failing = () =>
      home.table.transaction(() => {
        home.table.update('s', { title: 'Never kept' });
        expect(home.table.get('s').title).toBe('Never kept');
        throw new Error('rolled back');
      });
    expect(failing).toThrow('rolled back');
    expect(home.table.get('s').title).toBe('A session');
  });

  it('cannot be changed by who reads it', () => {
    using home = new SessionHome();
    expect(() => Object.assign(home.table.get('s'), { title: 'y' })).toThrow(TypeError);
  });
});
