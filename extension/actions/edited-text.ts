/**
 * What a file would hold after a tool's edit: the whole text of a Write, the replacements of an Edit or MultiEdit in
 * their order. Undefined for an input that is no edit, or that does not fit the file.
 * Source: the inputs of Claude Code's tools `Write`, `Edit` and `MultiEdit`.
 */
export function editedText(
  current: string | undefined,
  input: Readonly<Record<string, unknown>>,
): string | undefined {
  if (typeof input.content === 'string') return input.content;
  const edits = Array.isArray(input.edits) ? input.edits : [input];
  let text = current ?? '';
  for (const each of edits) {
    const { old_string: from, new_string: to, replace_all: all } = each as Record<string, unknown>;
    if (typeof from !== 'string' || typeof to !== 'string') return undefined;
    if (from === '') {
      // An empty place to replace is how a new file is made.
      if (text !== '') return undefined;
      text = to;
      continue;
    }
    if (!text.includes(from)) return undefined;
    // A function: `$&` in what an agent writes is text.
    text = all === true ? text.replaceAll(from, () => to) : text.replace(from, () => to);
  }
  return text;
}
