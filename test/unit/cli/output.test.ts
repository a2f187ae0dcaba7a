import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cut, printable, table, visibleWidth } from '../../../sidecar/cli/output.ts';
import { age, dollars, tokens } from '../../../sidecar/protocol/wording.ts';

const RED = '\u001b[31m';
const BACK = '\u001b[39m';

describe('a table', () => {
  it('has columns as wide as their widest cell, counted as a terminal shows them', () => {
    const rows = [
      ['a', '日本', 'x'],
      [`${RED}long${BACK}`, 'b', 'y'],
    ];
    expect(table(['A', 'BB', 'C'], rows, Number.POSITIVE_INFINITY).split('\n')).toEqual([
      'A     BB    C',
      'a     日本  x',
      `${RED}long${BACK}  b     y`,
    ]);
  });

  it('never has a row wider than the terminal', () => {
    const cell = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 30 }).map(printable),
      fc.constant(`${RED}red${BACK}`),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell), { maxLength: 5 }),
        fc.integer({ min: 5, max: 80 }),
        (rows, width) => {
          for (const line of table(['ONE', 'TWO'], rows, width).split('\n')) {
            expect(visibleWidth(line)).toBeLessThanOrEqual(width);
          }
        },
      ),
    );
  });
});

describe('a text that is cut', () => {
  it.each([
    ['hello', 10, 'hello'],
    ['hello', 5, 'hello'],
    ['hello', 4, 'hel…'],
    ['日本語', 5, '日本…'],
    ['日本語', 4, '日…'],
    ['ae\u0301e\u0301e\u0301', 3, 'ae\u0301…'],
    [`${RED}hello${BACK}`, 3, `${RED}he…${BACK}`],
    [`a${RED}bcdef${BACK}g`, 4, `a${RED}bc…${BACK}`],
  ])('%j in %i columns is %j', (text, width, expected) => {
    expect(cut(text, width)).toBe(expected);
  });
});

describe('what is printed', () => {
  it('holds nothing that a terminal would act on', () => {
    expect(printable('a\u001b[31mb\u001b]0;title\u0007c\u0000\u009bd\r\ne\tf')).toBe('abcd\ne\tf');
  });

  it('is an age in the largest unit that fits', () => {
    const at = (seconds: number) => age(0, seconds * 1000);
    expect([at(-5), at(0), at(59), at(60), at(3_599), at(3_600), at(86_399), at(86_400 * 9)]).toEqual([
      '0s',
      '0s',
      '59s',
      '1m',
      '59m',
      '1h',
      '23h',
      '9d',
    ]);
  });

  it('is money in dollars and cents, and never nothing where something was spent', () => {
    expect([0, 0.000_01, 0.0099, 0.01, 1.239, 1234.5].map(dollars)).toEqual([
      '$0.00',
      '<$0.01',
      '<$0.01',
      '$0.01',
      '$1.24',
      '$1234.50',
    ]);
  });

  it('is a number of tokens in a few characters', () => {
    expect(
      [0, 999, 1_000, 12_345, 99_949, 99_950, 999_499, 999_500, 4_560_000, 123_456_789].map(tokens),
    ).toEqual(['0', '999', '1.0k', '12.3k', '99.9k', '100k', '999k', '1.0M', '4.6M', '123M']);
  });
});
