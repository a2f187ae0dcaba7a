/** `text` as exactly one word of a POSIX shell. NUL cannot be passed to a program and is dropped. */
export function quoteWord(text: string): string {
  const plain = text.replaceAll('\0', '');
  return /^[\w@%+=:,./-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", `'\\''`)}'`;
}
