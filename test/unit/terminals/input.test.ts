import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bracketedPaste, pasteText } from '../../../sidecar/terminals/input.ts';

describe('a prompt as a bracketed paste', () => {
  it('keeps text, tabs and non-ASCII as they are, and parts lines by CR', () => {
    expect(pasteText('a\tb\r\nc\nd\re — 漢字 😀')).toBe('a\tb\rc\rd\re — 漢字 😀');
  });

  it('keeps what agents read as commands', () => {
    for (const text of ['/help', '!ls', '# note', '@file']) expect(pasteText(text)).toBe(text);
  });

  it('loses escape sequences whole', () => {
    expect(pasteText('a\u001b[31mred\u001b[0m \u001b]8;;http://x\u001b\\link\u001b]8;;\u0007 \u001bOP')).toBe(
      'ared link ',
    );
  });

  it('cannot be ended by the text in it', () => {
    expect(bracketedPaste('x\u001b[201~rm -rf\r')).toBe('\u001b[200~xrm -rf\r\u001b[201~');
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            '\u001b',
            '[',
            '201~',
            '\u001b[201~',
            '\u009b',
            ']',
            '\u0007',
            'a',
            '\u001b[2\u001b[201~01~',
            '\u0003',
          ),
          { maxLength: 20 },
        ),
        (parts) => {
          const paste = bracketedPaste(parts.join(''));
          const inner = paste.slice('\u001b[200~'.length, -'\u001b[201~'.length);
          expect(inner).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/);
        },
      ),
    );
  });
});
