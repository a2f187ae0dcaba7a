/** One choice of a dialog on the screen. */
export interface DialogOption {
  label: string;
  /** The digit that chooses it; null where options have none. */
  number: number | null;
  selected: boolean;
  /** Of a question with several answers: whether it is ticked; null elsewhere. */
  ticked: boolean | null;
}

const MARKED = /^(\s*)❯\s(.+)$/;
const NUMBERED = /^(\d+)\. (?:\[(.)\] ?)?(.*)$/;
const RULE = /^[\s─━▔╌]*$/;

/** The first or the last choice that is drawn of a list that goes on: `↓ 3. Yes, …`. Seen with 2.1.332. */
const GOES_ON = /^(\s*)[↑↓](?= \d+\. )/;

/** Whether the dialog on the screen has choices that its terminal is too low for. */
export function hasHiddenOptions(screen: readonly string[]): boolean {
  return screen.some((row) => GOES_ON.test(row));
}

/**
 * The choices of the dialog that stands on the screen, top down; empty when there is none. The marked row (`❯`)
 * tells it apart from text: the choices stand in the same column, with wrapped lines and descriptions further right.
 * The composer, which has the same mark, stands between two rules. Choices that the terminal is too low for are missing.
 * Pure.
 */
export function dialogOptions(shown: readonly string[]): DialogOption[] {
  const screen = shown.map((row) => row.replace(GOES_ON, '$1 '));
  // Where the composer stands, marks above it are the prompts of before.
  if (composerText(screen) !== undefined) return [];
  const marked = screen.findLastIndex((row) => MARKED.test(row));
  const match = MARKED.exec(screen[marked] ?? '');
  if (match === null) return [];
  const column = (match[1] ?? '').length + 2;
  const numbered = NUMBERED.test(match[2] ?? '');
  const rows: string[] = [];
  for (let at = marked - 1; at >= 0 && continues(screen[at] ?? '', column, numbered); at -= 1) {
    rows.unshift(screen[at] ?? '');
  }
  const above = rows.length;
  rows.push(screen[marked] ?? '');
  for (let at = marked + 1; at < screen.length && continues(screen[at] ?? '', column, numbered); at += 1) {
    rows.push(screen[at] ?? '');
  }
  const options = rows.flatMap((row, at) => {
    const text = row.slice(column).trimEnd();
    if (text === '' || text.startsWith(' ')) return [];
    const parts = NUMBERED.exec(text);
    if (numbered && parts === null) return [];
    return [
      {
        label: (parts?.[3] ?? text).trim(),
        number: parts?.[1] === undefined ? null : Number(parts[1]),
        selected: at === above,
        ticked: parts?.[2] === undefined ? null : parts[2] !== ' ',
      },
    ];
  });
  return options.length > 1 ? options : [];
}

/** A row that can belong to the same list: further choices, what is wrapped or described below them. */
function continues(row: string, column: number, numbered: boolean): boolean {
  if (RULE.test(row)) return numbered && row.trim() !== '';
  return row.slice(0, column).trim() === '' || (numbered && /^\s*(❯ )?\d+\. /.test(row));
}

/** The rule above a composer whose first lines do not fit: `─── ↑ 12 more ───`. Seen with 2.1.332. */
const MORE_ABOVE = /^─+ ↑ (\d+) more ─/;
/** The rule below a composer, of which lines may be left out as well. */
const BELOW = /^(─{10,}|─+ ↓ \d+ more ─)/;

function isComposer(screen: readonly string[], at: number): boolean {
  return (
    /^─{10,}/.test((screen[at - 1] ?? '').trim()) &&
    endsBelow(screen, at) &&
    !NUMBERED.test((screen[at] ?? '').trim().slice(2))
  );
}

function endsBelow(screen: readonly string[], at: number): boolean {
  return screen.slice(at + 1, at + 40).some((row) => BELOW.test(row.trim()));
}

/** Texts that the CLI shows in an empty composer. */
const PLACEHOLDER = /^(Try "|Resend your message|Once fixed, resend|Press up to edit|describe a task|Ask )/;

/**
 * What stands in the composer, empty when nothing does; undefined when no composer is on the screen, because a dialog
 * covers it. Lines that do not fit are empty ones, or one where the CLI does not tell how many. Pure.
 */
export function composerText(screen: readonly string[]): string | undefined {
  const marked = screen.findLastIndex((row, at) => /^[❯!]\s/.test(row.padEnd(2)) && isComposer(screen, at));
  const cut = screen.findLastIndex((row, at) => MORE_ABOVE.test(row.trim()) && endsBelow(screen, at));
  if (cut > marked) {
    const hidden = Number(MORE_ABOVE.exec((screen[cut] ?? '').trim())?.[1]);
    return '\n'.repeat(hidden) + linesFrom(screen, cut + 1);
  }
  if (marked === -1) return fillsScreen(screen) ? `\n${linesFrom(screen, 0)}` : undefined;
  const text = linesFrom(screen, marked);
  return PLACEHOLDER.test(text) ? '' : text;
}

/** Whether the screen begins within a composer: nothing but its lines, the rule below it, and the line of modes. */
function fillsScreen(screen: readonly string[]): boolean {
  const end = screen.findLastIndex((row) => BELOW.test(row.trim()));
  const lines = screen.slice(0, end);
  // A dialog goes on below its rule, with space between its parts; in a low terminal what stands above it is indented too.
  const foot = screen
    .slice(end + 1)
    .join('\n')
    .trim();
  return (
    !/\n\s*\n/.test(foot) &&
    lines.some((row) => row.trim() !== '') &&
    lines.every(
      (row) => /^( {2}(?!⎿)|\s*$)/.test(row) && !MARKED.test(row) && !RULE.test(row.trim() || '.'),
    ) &&
    !screen.slice(end + 1).some((row) => MARKED.test(row))
  );
}

function linesFrom(screen: readonly string[], begin: number): string {
  const lines: string[] = [];
  for (let at = begin; at < screen.length && !BELOW.test((screen[at] ?? '').trim()); at += 1) {
    lines.push((screen[at] ?? '').slice(2).trimEnd());
  }
  return lines.join('\n').trim();
}
