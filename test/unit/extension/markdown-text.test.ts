import { describe, expect, it } from 'vitest';
import { markdownText, tooltipText } from '../../../extension/window/markdown-text.ts';

describe('text in Markdown', () => {
  it('has nothing in it that Markdown would take for more than text', () => {
    expect(markdownText('[a](command:b) $(bell) **x** <img src=y> `z` &amp; https://e.x')).toBe(
      '\\[a\\]\\(command\\:b\\) \\$\\(bell\\) \\*\\*x\\*\\* &lt;img src=y&gt; \\`z\\` &amp;amp; https\\://e\\.x',
    );
  });

  it('has no icon in it where others have one', () => {
    expect(tooltipText('$(bell) and $(no icon')).toBe('\\\\\\$\\(bell\\) and \\$\\(no icon');
  });

  it('stays on one line, and can be broken at its spaces', () => {
    expect(markdownText('one\n\n  two\tthree ')).toBe('one two three');
  });
});
