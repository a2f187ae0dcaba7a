import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formattedText, unformatted } from '../../../extension/actions/formatted-text.ts';

/** As a person sees it. */
const seen = (text: string) => text.replaceAll('\u2060', '');

describe('the formatted text of an agent', () => {
  it('has no image and no HTML, and looks as it was written', () => {
    const text = 'See ![a](https://x.y/a.png), ![b][c] and <img src="https://x.y">, `![d](e)`, $$x$$.';
    const out = formattedText(text);
    expect(out).not.toMatch(/!\[|<[a-z]|\$\$/);
    expect(seen(out)).toBe(text);
  });

  it('keeps lists, emphasis and links', () => {
    const text = '## Done\n\n- **one**\n- [two](https://x.y)\n\n1. `three`';
    expect(formattedText(text)).toBe(text);
  });

  it('keeps code in blocks to the letter', () => {
    const code = 'const a: Array<string> = ["![x](y)"];\n\n$$';
    expect(formattedText(`Before\n\`\`\`ts\n${code}\n\`\`\`\nAfter <b>`)).toBe(
      `Before\n\`\`\`ts\n${code}\n\`\`\`\nAfter <\u2060b>`,
    );
    expect(formattedText('~~~\n```\n<b>\n~~~')).toBe('````\n```\n<b>\n````');
  });

  it('takes for code only what is fenced from the first column, to its end', () => {
    for (const text of [
      '```\n![a](b)',
      '  ```\n![a](b)\n  ```',
      '- ~~~\n  <b>\n  ~~~',
      '    ```\n<b>\n    ```',
    ]) {
      expect(formattedText(text)).not.toMatch(/!\[|<b/);
      expect(formattedText(text)).not.toMatch(/```|~~~/);
    }
  });

  it('leaves no fence but its own, and nothing live outside of them', () => {
    const piece = fc.constantFrom(
      '```',
      '````',
      '~~~',
      ' ',
      '  ',
      '\n',
      '\r',
      '![',
      '<b>',
      '$$',
      '- ',
      '> ',
      'x',
      '`',
      '~',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        let open: string | undefined;
        for (const line of formattedText(pieces.join('')).split('\n')) {
          if (open !== undefined) {
            if (line === open) open = undefined;
            continue;
          }
          const fence = /^`{3,}/.exec(line)?.[0];
          if (fence === undefined) expect(line).not.toMatch(/!\[|<[a-z]|\$\$|```|~~~/);
          else open = fence;
        }
        expect(open).toBeUndefined();
      }),
    );
  });

  it('is text without any block for a prompt', () => {
    expect(unformatted('``` ![a](b) ~~~~ <b>')).not.toMatch(/!\[|<b|```|~~~/);
  });
});
