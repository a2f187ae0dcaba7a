import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemIds } from '../../../sidecar/platform/ids.ts';
import { freeName, slugOf, titleFrom, titleOf } from '../../../sidecar/sessions/naming.ts';

const anyText = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), fc.lorem());

describe('the title of a session', () => {
  it.each([
    ['Fix it', 'Fix it'],
    ['\n \n  Fix   it\tnow \nand more', 'Fix it now'],
    ['---\nFix it', 'Fix it'],
    ['?!', 'New session'],
    ['', 'New session'],
    [undefined, 'New session'],
    ['🎉', '🎉'],
    ['日本語', '日本語'],
    ['👩‍👩‍👧 family', '👩‍👩‍👧 family'],
    ['\u001b[31mred\u001b[0m\u0007\u200b', 'red'],
    ['one\r\ntwo', 'one'],
  ])('of %j is %j', (prompt, title) => {
    expect(titleOf(prompt)).toBe(title);
  });

  it('is cut at a word when it is long, and nowhere inside a character', () => {
    expect(titleOf(`${'word '.repeat(30)}`)).toBe(`${'word '.repeat(15)}word…`);
    expect(titleOf('👩‍👩‍👧'.repeat(100))).toBe(`${'👩‍👩‍👧'.repeat(79)}…`);
  });

  it('is one line that says something, of at most 80 characters, for any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const title = titleOf(text);
        expect(title).toMatch(/\S/);
        expect(title).not.toMatch(/\p{Cc}/u);
        expect([...new Intl.Segmenter().segment(title)].length).toBeLessThanOrEqual(80);
        expect(title.isWellFormed()).toBe(true);
        expect(titleFrom(title)).toBe(title);
      }),
    );
  });
});

describe('the slug of a title', () => {
  it.each([
    ['Fix the Bug!', 'fix-the-bug'],
    ['Crème brûlée', 'creme-brulee'],
    ['日本語', 'session'],
    ['🎉', 'session'],
    ['--', 'session'],
    ['a/../b.lock', 'a-b-lock'],
    ['HEAD', 'head'],
    ['Please take a very careful look at everything', 'please-take-a-very-careful-look-at'],
    ['x'.repeat(100), 'x'.repeat(40)],
  ])('of %j is %j', (title, slug) => {
    expect(slugOf(title)).toBe(slug);
  });

  it('is a plain name of at most 40 characters for any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(slugOf(text)).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
        expect(slugOf(text).length).toBeLessThanOrEqual(40);
      }),
    );
  });
});

describe('a free name', () => {
  it('is the first that nobody has', async () => {
    const taken = new Set(['fix', 'fix-2', 'fix-4']);
    expect(await freeName('fix', async (name) => taken.has(name), systemIds)).toBe('fix-3');
    expect(await freeName('other', async (name) => taken.has(name), systemIds)).toBe('other');
  });

  it('is found though all that are tried are taken', async () => {
    const name = await freeName('fix', async (each) => /^fix(-\d\d?)?$/.test(each), systemIds);
    expect(name).toMatch(/^fix-[0-9a-z]{6}$/);
  });
});
