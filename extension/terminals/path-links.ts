/** A path in a line of a terminal, with the place in the file that follows it. */
export interface PathLink {
  /** Index in the line. */
  start: number;
  length: number;
  path: string;
  /** From 1. */
  line: number | undefined;
  column: number | undefined;
}

/** Longer lines hold no paths for people. */
const MAX_LINE = 2_000;
/** Paths of one line that are looked for. */
const MAX_LINKS = 16;

/** A word without what stands around paths in prose and in calls; `:12:3` or `(12,3)` behind it is the place. */
const CANDIDATE = /[^\s'"`()<>{}|:;,*?!=│┃┆─╭╮╰╯⎿●]+(?::(\d+)(?::(\d+))?|\((\d+)(?:,\s?(\d+))?\))?/gu;

/** Everything in `line` that has the form of a path to a file: whether there is one is another matter. */
export function pathsIn(line: string): PathLink[] {
  if (line.length > MAX_LINE) return [];
  const found: PathLink[] = [];
  for (const match of line.matchAll(CANDIDATE)) {
    const [whole, lineA, columnA, lineB, columnB] = match;
    const place = lineA ?? lineB;
    const word = place === undefined ? whole : whole.slice(0, whole.search(/[:(]\d/));
    const start = word.length - word.replace(/^\[+/, '').length;
    const path = word.slice(start).replace(/(?<!\[[^\]]*)\]+$|\.+$/, '');
    if (!/[/.]/.test(path) || /^[./~@-]*$/.test(path)) continue;
    found.push({
      start: match.index + start,
      length: place === undefined ? path.length : whole.length - start,
      path,
      line: numberOf(place),
      column: numberOf(columnA ?? columnB),
    });
    if (found.length === MAX_LINKS) break;
  }
  return found;
}

function numberOf(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits);
}
