import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_MESSAGE_BYTES, MessageLimit } from '../../../sidecar/daemon/message-limit.ts';

function frame(body: string, more = ''): string {
  return `Content-Length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`;
}

/** What the limit says of `bytes`, cut into pieces of the given sizes. */
function pushed(bytes: Buffer, sizes: readonly number[]): string | undefined {
  const limit = new MessageLimit();
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1);
    const fault = limit.push(bytes.subarray(at, at + size));
    if (fault !== undefined) return fault;
    at += size;
  }
  return undefined;
}

describe('the limit of a message', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 20 });

  it('lets every whole frame pass, however it is cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 300 }), { maxLength: 8 }),
        sizes,
        (bodies, cuts) => {
          const text = bodies
            .map((body, at) => frame(body, at % 2 ? 'Content-Type: x; charset=utf-8\r\n' : ''))
            .join('');
          expect(pushed(Buffer.from(text), cuts)).toBeUndefined();
        },
      ),
    );
  });

  it('finds the frame that is too large behind any others, however it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 300 }), { maxLength: 4 }), sizes, (bodies, cuts) => {
        const text = `${bodies.map((body) => frame(body)).join('')}content-length: ${MAX_MESSAGE_BYTES + 1}\r\n\r\n`;
        expect(pushed(Buffer.from(text), cuts)).toContain('too large');
      }),
    );
  });

  it('takes a message of the largest size', () => {
    expect(pushed(Buffer.from(frame('x'.repeat(MAX_MESSAGE_BYTES))), [65_536])).toBeUndefined();
  });

  it.each([
    ['an endless header', 'x'.repeat(5_000), 'does not end'],
    ['no length', 'Content-Type: x\r\n\r\n', 'no length'],
    ['a length that is no number', 'Content-Length: many\r\n\r\n', 'no length'],
    ['a negative length', 'Content-Length: -5\r\n\r\n', 'no length'],
  ])('refuses %s', (_what, text, fault) => {
    expect(pushed(Buffer.from(text), [1_000])).toContain(fault);
  });
});
