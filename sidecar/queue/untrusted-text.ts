/** Control characters, and marks that turn the direction of text around. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g;

/** What hooks, servers, paths and commits say may hold anything; people and agents read one line. Pure. */
export function oneLine(text: string): string {
  return text.replace(CONTROLS, ' ').replace(/ {2,}/g, ' ').trim();
}

/** As {@link oneLine}, of at most `length` characters. Pure. */
export function shortLine(text: string, length: number): string {
  const line = oneLine(text);
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}
