/** What stands for one character of a name: itself, or `?` any. */
type Token = { kind: 'text'; text: string } | { kind: 'any' } | { kind: 'star' };

/**
 * Pure: whether a name may match one segment of a `.gitignore` pattern. Never no where git says yes; a set (`[a-z]`)
 * counts as any character. Takes the product of both lengths at most, whatever the pattern.
 */
export function mayMatch(glob: string, name: string): boolean {
  const tokens = tokensOf(glob);
  // An unclosed set: git decides.
  if (tokens === undefined) return true;
  let at = 0;
  let read = 0;
  // Where to go on after a mismatch: the last star takes one character more. Earlier ones need not change.
  let star: { at: number; read: number } | undefined;
  while (read < name.length) {
    const token = tokens[at];
    if (token?.kind === 'star') {
      at += 1;
      star = { at, read };
    } else if (token?.kind === 'any' || token?.text === name[read]) {
      at += 1;
      read += 1;
    } else if (star !== undefined) {
      star.read += 1;
      ({ at, read } = star);
    } else return false;
  }
  return tokens.slice(at).every(({ kind }) => kind === 'star');
}

function tokensOf(glob: string): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < glob.length; at += 1) {
    const text = glob[at] ?? '';
    if (text === '*') tokens.push({ kind: 'star' });
    else if (text === '?') tokens.push({ kind: 'any' });
    else if (text === '[') {
      const end = endOfSet(glob, at);
      if (end === undefined) return undefined;
      tokens.push({ kind: 'any' });
      at = end;
    } else if (text === '\\' && at + 1 < glob.length) {
      at += 1;
      tokens.push({ kind: 'text', text: glob[at] ?? '' });
    } else tokens.push({ kind: 'text', text });
  }
  return tokens;
}

/** Where the set that begins at `from` closes. Source: gitignore(5) and fnmatch(3), as git's wildmatch.c reads them. */
function endOfSet(glob: string, from: number): number | undefined {
  let at = from + 1;
  if (glob[at] === '!' || glob[at] === '^') at += 1;
  // A bracket that comes first is one of the set.
  if (glob[at] === ']') at += 1;
  while (at < glob.length && glob[at] !== ']') {
    if (glob.startsWith('[:', at)) {
      const end = glob.indexOf(':]', at + 2);
      if (end < 0) return undefined;
      at = end + 2;
    } else at += glob[at] === '\\' ? 2 : 1;
  }
  return at < glob.length ? at : undefined;
}
