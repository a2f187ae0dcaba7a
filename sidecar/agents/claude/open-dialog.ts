import type { Reason } from '../../protocol/reason.ts';
import { composerText, dialogOptions } from './dialog.ts';
import { oneLine } from './tool-summary.ts';

/** A dialog as it stands on the screen. Untrusted words, each on one line, without control characters. */
export interface OpenDialog {
  title: string;
  /** Which keys it takes, in its own words; empty when it does not say. */
  keys: string;
  /** Labels of its numbered choices, top down; empty when it has none. */
  options: string[];
}

/** What parts a dialog from what stands above it. */
const RULE = /^\s*[─▔━]{20,}\s*$/;
/** As the CLI draws it: what an agent writes is further right. */
const OWN_RULE = /^[─▔━]{20,}\s*$/;
const KEYS = /\b(Esc|Enter)\b.* to /i;
const NUMBERED = /^\s*(❯\s)?\s*\d+\. /;

/** A title of more characters is text of something else. */
const MAX_TITLE = 160;
const MAX_OPTIONS = 20;
const MAX_OPTION = 120;

/** Keys of dialogs that are higher than many terminals, which show the beginning alone. Seen with 2.1.332. */
const KNOWN_KEYS: readonly [title: RegExp, keys: string][] = [
  [
    /^Auto mode can't check actions/,
    'Enter to stay in auto mode · shift+Tab to leave for accept edits mode and stop · Esc to cancel',
  ],
];

/**
 * The dialog on the screen, undefined when none is there that says what it is. Pure.
 * @param told whether a signal tells that one is open: it is believed without keys and choices then, which stand below
 * the edge of a low terminal
 */
export function openDialog(screen: readonly string[], told: boolean): OpenDialog | undefined {
  if (composerText(screen) !== undefined) return undefined;
  const choices = dialogOptions(screen);
  const numbered = choices.every(({ number }) => number !== null) ? choices : [];
  const keys = keysOf(screen);
  const isWhole = keys !== undefined || choices.length > 0;
  if (!isWhole && !told) return undefined;
  // A rule may stand between choices too: above it is more of the dialog, then.
  const firstChoice = screen.findIndex((row) => NUMBERED.test(row));
  const below = numbered.length > 0 && firstChoice !== -1 ? firstChoice : screen.length;
  const rule = screen.slice(0, below).findLastIndex((row) => (isWhole ? RULE : OWN_RULE).test(row));
  if (rule === -1) return undefined;
  const title = titleBelow(screen, rule);
  if (title === undefined || title.length > MAX_TITLE || title === keys) return undefined;
  return {
    title,
    keys: keys ?? KNOWN_KEYS.find(([known]) => known.test(title))?.[1] ?? '',
    options: numbered.slice(0, MAX_OPTIONS).map(({ label }) => shortened(oneLine(label))),
  };
}

/** The last rows of the screen, when they say which keys there are: one, or more where it wraps. */
function keysOf(screen: readonly string[]): string | undefined {
  const last = screen.findLastIndex((row) => row.trim() !== '');
  const end = screen.findLastIndex((row, at) => at >= last - 2 && at <= last && KEYS.test(row));
  if (end === -1) return undefined;
  let first = end;
  while (first > 0 && KEYS.test(screen[first - 1] ?? '') && !NUMBERED.test(screen[first - 1] ?? ''))
    first -= 1;
  return joined(screen.slice(first, end + 1));
}

/** The first words below a rule: one row, and those that it wraps to, of which the first word had no room in it. */
function titleBelow(screen: readonly string[], rule: number): string | undefined {
  const width = (screen[rule] ?? '').trimEnd().length;
  const first = screen.findIndex((row, at) => at > rule && /[\p{L}\p{N}]/u.test(row));
  if (first === -1) return undefined;
  let end = first + 1;
  for (; end < screen.length; end += 1) {
    const [word] = (screen[end] ?? '').trim().split(' ');
    const room = width - (screen[end - 1] ?? '').trimEnd().length;
    if (word === undefined || word === '' || word.length + 1 <= room) break;
  }
  return joined(screen.slice(first, end));
}

function joined(rows: readonly string[]): string {
  return oneLine(rows.map((row) => row.trim()).join(' '));
}

/**
 * What the person is needed for, with the words of the dialog on the screen, of a reason that only says that something is
 * asked. As it is when no dialog is there. Pure.
 * @param told as of {@link openDialog}
 */
export function withDialog(reason: Reason, screen: readonly string[], told: boolean): Reason {
  const dialog = openDialog(screen, told);
  if (dialog === undefined) return reason;
  const { title, keys, options } = dialog;
  const sentence = /[.:!?…]$/.test(title) ? title : `${title}.`;
  const message = keys === '' ? title : oneLine(`${sentence} ${keys}`);
  if (reason.kind === 'permission') return { ...reason, message };
  return {
    ...reason,
    message,
    ...(reason.kind === 'unknown' ? { dialog: true } : {}),
    ...(options.length === 0 ? {} : { options }),
  };
}

function shortened(text: string): string {
  return text.length <= MAX_OPTION ? text : `${text.slice(0, MAX_OPTION - 1)}…`;
}
