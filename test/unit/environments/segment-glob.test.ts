import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mayMatch } from '../../../sidecar/environments/segment-glob.ts';

describe('a segment of a pattern', () => {
  it.each([
    ['', '', true],
    ['*', '', true],
    ['a', 'ab', false],
    ['a*', 'a', true],
    ['*a*', 'bab', true],
    ['*ab', 'aab', true],
    ['a*b*c', 'aXbXbc', true],
    ['a*b*c', 'aXbXb', false],
    ['?', 'a', true],
    ['?', '', false],
    ['.env.?', '.env.1', true],
    ['.env', 'xenv', false],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['[Nn]ode', 'node', true],
    ['x[]]', 'x]', true],
    ['x[!]a]y', 'xby', true],
    ['x[[:alpha:]]y', 'xay', true],
    ['x[[:alpha:]]y', 'xz', false],
    ['x[a', 'anything', true],
    ['x(a', 'x(a', true],
    ['a**b', 'axxb', true],
  ])('%j may match %j: %s', (glob, name, expected) => {
    expect(mayMatch(glob, name)).toBe(expected);
  });

  it('matches what a regular expression would', () => {
    const letters = (unit: string[]) => fc.string({ unit: fc.constantFrom(...unit), maxLength: 8 });
    fc.assert(
      fc.property(letters(['a', 'b', '*', '?']), letters(['a', 'b']), (glob, name) => {
        const expression = new RegExp(`^${glob.replace(/\*+/g, '.*').replaceAll('?', '.')}$`);
        expect(mayMatch(glob, name)).toBe(expression.test(name));
      }),
      { numRuns: 1_000 },
    );
  });

  it('with many stars is as quick as any', () => {
    expect(mayMatch(`${'*a'.repeat(60)}*b`, 'a'.repeat(255))).toBe(false);
    expect(mayMatch('[[:'.repeat(20_000), 'a'.repeat(255))).toBe(true);
  });
});
