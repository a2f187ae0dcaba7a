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
const KEYS = /\b(Esc|Enter)\b.* to /i;
const NUMBERED = /^\s*(❯\s)?\s*\d+\. /;

/** A title of more characters is text of something else. */
const MAX_TITLE = 160;
const MAX_OPTIONS = 20;
const MAX_OPTION = 120;

/** The dialog on the screen, undefined when none is there that says what it is. Pure. */
export function openDialog(screen: readonly string[]): OpenDialog | undefined {
  if (composerText(screen) !== undefined) return undefined;
  const choices = dialogOptions(screen);
  const numbered = choices.every(({ number }) => number !== null) ? choices : [];
  const last = screen.findLastIndex((row) => row.trim() !== '');
  const keys = screen.slice(Math.max(0, last - 2), last + 1).findLast((row) => KEYS.test(row));
  if (keys === undefined && choices.length === 0) return undefined;
  // A rule may stand between choices too: above it is more of the dialog, then.
  const firstChoice = screen.findIndex((row) => NUMBERED.test(row));
  const below = numbered.length > 0 && firstChoice !== -1 ? firstChoice : screen.length;
  const rule = screen.slice(0, below).findLastIndex((row) => RULE.test(row));
  if (rule === -1) return undefined;
  const title = screen.slice(rule + 1).find((row) => /[\p{L}\p{N}]/u.test(row));
  if (title === undefined || title.trim().length > MAX_TITLE || title === keys) return undefined;
  return {
    title: oneLine(title),
    keys: keys === undefined ? '' : oneLine(keys),
    options: numbered.slice(0, MAX_OPTIONS).map(({ label }) => shortened(oneLine(label))),
  };
}

/**
 * What the person is needed for, with the words of the dialog on the screen, of a reason that only says that something is
 * asked. As it is when no dialog is there. Pure.
 */
export function withDialog(reason: Reason, screen: readonly string[]): Reason {
  const dialog = openDialog(screen);
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
