/** Keeps two characters from meaning something together; nobody sees it. U+2060, word joiner. */
const APART = '\u2060';

const FENCE = /^(`{3,}|~{3,})(.*)$/;

/**
 * The Markdown of an agent, formatted and nothing more: no image, which would be fetched, and no HTML. Code in blocks
 * stays as it is. What is cut apart is put back so that it looks the same.
 */
export function formattedText(text: string): string {
  const out: string[] = [];
  const lines = text.split(/\r\n|\r|\n/);
  for (let at = 0; at < lines.length; at += 1) {
    const [, fence = '', language = ''] = FENCE.exec(lines[at] ?? '') ?? [];
    const end = fence === '' ? -1 : endOfBlock(lines, at, fence);
    if (end < 0) {
      out.push(unformatted(lines[at] ?? ''));
      continue;
    }
    out.push(...block(lines.slice(at + 1, end), language));
    at = end;
  }
  return out.join('\n');
}

/** A line in which nothing is fetched, is HTML, or begins something that other lines belong to. */
export function unformatted(line: string): string {
  return line
    .replaceAll('![', `!${APART}[`)
    .replaceAll('<', `<${APART}`)
    .replaceAll(/(`{2}|~{2})(?=[`~])/g, `$1${APART}`)
    .replaceAll(/\$(?=\$)/g, () => `$${APART}`);
}

function endOfBlock(lines: readonly string[], begin: number, fence: string): number {
  return lines.findIndex(
    (line, at) =>
      at > begin &&
      line.trimEnd().length >= fence.length &&
      /^(`+|~+)\s*$/.test(line) &&
      line[0] === fence[0],
  );
}

/** Fenced anew: no line of it can end a fence that is longer than any in it, and no other fence is left outside. */
function block(code: readonly string[], language: string): string[] {
  const longest = Math.max(2, ...code.flatMap((line) => line.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return [`${fence}${/^[\w+#.-]*$/.test(language.trim()) ? language.trim() : ''}`, ...code, fence];
}
