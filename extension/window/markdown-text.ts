import { pickText } from './pick-text.ts';

/**
 * `text` for a Markdown string that has icons, in which it is to be read as it is. Icons are looked for in what Markdown
 * has made of the text, so that one more backslash has to be left in there.
 */
export function tooltipText(text: string): string {
  return markdownText(pickText(text));
}

/**
 * `text` for a Markdown document in which it is to be read as it is: no link, no emphasis, no HTML.
 * `MarkdownString.appendText` does that as well, but leaves no space at which a line could break.
 */
export function markdownText(text: string): string {
  return text
    .replaceAll(/[\\`*_{}[\]()#+\-!~|$.:@]/g, '\\$&')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
