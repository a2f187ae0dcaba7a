import { describe, expect, it } from 'vitest';
import { pickText } from '../../../extension/window/pick-text.ts';

describe('a line that is picked from', () => {
  it.each([
    ['$(check) Allowed', '\\$(check) Allowed'],
    ['$(sync~spin)$(x)', '\\$(sync~spin)\\$(x)'],
    ['cost $(not an icon) and $5', 'cost $(not an icon) and $5'],
  ])('shows %s as it is written', (text, expected) => {
    expect(pickText(text)).toBe(expected);
  });
});
