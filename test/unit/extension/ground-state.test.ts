import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GroundState } from '../../../extension/terminals/ground-state.ts';

function isGround(...parts: string[]): boolean {
  const state = new GroundState();
  for (const part of parts) state.push(part);
  return state.isGround;
}

describe('output of a terminal', () => {
  it.each([
    ['text', 'hello'],
    ['a whole CSI', '\u001b[1;31m'],
    ['a whole CSI in its one-byte form', '\u009b31m'],
    ['an OSC ended by BEL', '\u001b]0;title\u0007'],
    ['an OSC ended by ST', '\u001b]8;;http://x\u001b\\'],
    ['a DCS ended by ST', '\u001bP1$r0m\u001b\\'],
    ['a character set', '\u001b(B'],
    ['a saved cursor', '\u001b7'],
    ['a sequence that was cancelled', '\u001b[12\u0018'],
    ['an emoji', '😀'],
  ])('may be interrupted after %s', (_what, text) => {
    expect(isGround(text)).toBe(true);
  });

  it.each([
    ['an escape', '\u001b'],
    ['the beginning of a CSI', 'x\u001b[1;3'],
    ['an OSC without its end', '\u001b]0;tit'],
    ['a string that may be ending', '\u001b]0;title\u001b'],
    ['a DCS without its end', '\u001bPabc'],
    ['an intermediate byte', '\u001b('],
    ['half an emoji', '\ud83d'],
  ])('may not be interrupted after %s', (_what, text) => {
    expect(isGround(text)).toBe(false);
  });

  it('is the same however it is cut', () => {
    const piece = fc.constantFrom(
      'a',
      '\u001b',
      '[',
      ']',
      '0',
      ';',
      'm',
      '\u0007',
      '\\',
      'P',
      '(',
      '\u0018',
      '\u009b',
      '\u009c',
      '漢',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        expect(isGround(...pieces)).toBe(isGround(pieces.join('')));
      }),
    );
  });
});
