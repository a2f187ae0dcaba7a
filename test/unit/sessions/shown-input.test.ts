import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Reason } from '../../../sidecar/protocol/reason.ts';
import { MAX_SHOWN, shownReason } from '../../../sidecar/sessions/shown-input.ts';

const asking = (input: unknown): Reason => ({
  kind: 'permission',
  message: 'Write: a.txt',
  tool: 'Write',
  input,
});

describe('the input of a tool that asks', () => {
  it('is shown whole when it is short', () => {
    const reason = asking({ file_path: 'a.txt', content: 'x'.repeat(1_000) });
    expect(shownReason(reason)).toEqual(reason);
  });

  it('keeps its shape and its beginning when it is long, and says that it is cut', () => {
    const shown = shownReason(asking({ file_path: 'a.txt', content: 'x'.repeat(8_000_000) }));
    expect(shown).toMatchObject({ truncated: true, input: { file_path: 'a.txt' } });
    expect((shown.input as { content: string }).content).toMatch(/^x{1000,}…$/);
  });

  it('is never told with more than 64 KiB', () => {
    const long = fc.constantFrom('a', 'ü"\\\n').map((text) => text.repeat(40_000));
    const input = fc.oneof(
      fc.array(long, { maxLength: 30 }),
      fc.dictionary(fc.string(), fc.array(long, { maxLength: 5 }), { maxKeys: 10 }),
      fc.constant(Array.from({ length: 100_000 }, (_, n) => [n])),
      fc.constant(Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`${n}`.repeat(20), n]))),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(input, (value) => {
        const shown = shownReason(asking(value));
        expect(JSON.stringify(shown.input).length).toBeLessThanOrEqual(MAX_SHOWN);
        expect(shown.truncated === true).toBe(JSON.stringify(value).length > MAX_SHOWN);
      }),
      { numRuns: 60 },
    );
  });

  it('offers choices without end only in part', () => {
    const options = Array.from({ length: 5_000 }, (_, n) => `${n}`);
    expect(shownReason({ ...asking({}), options }).options).toHaveLength(100);
  });
});
