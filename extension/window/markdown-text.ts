/**
 * `text` for a Markdown string in which it is to be read as it is: no link, no emphasis, no icon, no HTML.
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
