import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodePath,
  displayPath,
  encodePath,
  joinNul,
  pathOnDisk,
  splitNul,
} from '../../../sidecar/git/names.ts';

describe('paths as text', () => {
  it('survive a round trip through text and JSON, whatever their bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const path = decodePath(Buffer.from(bytes));
        expect([...encodePath(path)]).toEqual([...bytes]);
        expect([...encodePath(JSON.parse(JSON.stringify(path)))]).toEqual([...bytes]);
      }),
    );
  });

  it('read as they are when they are UTF-8, the replacement character included', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(decodePath(Buffer.from(text))).toBe(text);
      }),
    );
    expect(decodePath(Buffer.from('a\uFFFDb'))).toBe('a\uFFFDb');
  });

  it('join and split at NUL', () => {
    const names = fc.array(
      fc.string({ unit: 'binary', minLength: 1 }).filter((name) => !name.includes('\0')),
    );
    fc.assert(
      fc.property(names, (paths) => {
        expect(splitNul(joinNul(paths)).map(decodePath)).toEqual(paths);
      }),
    );
    expect(splitNul(Buffer.from('a\0\0b')).map(String)).toEqual(['a', '', 'b']);
  });

  it('show what cannot be printed', () => {
    expect(displayPath('a\n\udcffé')).toBe('a\\x0a\\xffé');
    expect(pathOnDisk('/r', 'a\udcff')).toEqual(Buffer.from('/r/a\xff', 'latin1'));
    expect(pathOnDisk('/r', 'é')).toBe('/r/é');
  });
});
