import { Argument } from 'commander';
import { FairleadError } from '../protocol/errors.ts';
import { Key, MAX_TEXT } from '../protocol/protocol.ts';

/** Arguments are checked before anything is started or asked for: what is wrong with one is told by its name. */

/** Longest name of a session, in UTF-16 units: a branch is the longest, and git's own limit is below this. */
const MAX_NAME = 300;

/** What `<session>` means, in every command that takes one. */
export function sessionArgument(name = '<session>', what = ''): Argument {
  const means = 'its id, the beginning of it, its key or its branch';
  return new Argument(name, what === '' ? means : `${what}: ${means}`).argParser(
    line(name, MAX_NAME, 'Run `fairlead ls` to see the sessions.'),
  );
}

/** Something in one line, of at most `max` UTF-16 units. */
export function line(name: string, max: number, hint?: string): (text: string) => string {
  return (text) => {
    if (text.trim() === '') throw wrong(name, 'is empty', hint);
    if (/[\r\n]/.test(text)) throw wrong(name, 'has more than one line', hint);
    if (text.length > max) throw wrong(name, `has more than ${max} characters`, hint);
    return text;
  };
}

/** Text with something in it, of at most `max` UTF-16 units. */
export function filled(name: string, max = MAX_TEXT): (text: string) => string {
  return (text) => {
    if (text.trim() === '') throw wrong(name, 'is empty');
    if (text.length > max) throw wrong(name, `has more than ${max} characters`);
    return text;
  };
}

/** A name of the person's own for a session. */
export function key(text: string): string {
  if (Key.safeParse(text).success) return text;
  throw wrong('--key', 'is no key', 'A key has 1 to 100 letters, digits or . : / @ - _');
}

/** The longest time that is waited, in seconds: a day. */
const MAX_SECONDS = 86_400;

/** Seconds above 0, at most a day. */
export function seconds(name: string): (text: string) => number {
  return (text) => {
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
    if (value > 0 && value <= MAX_SECONDS) return value;
    throw wrong(name, `is no number of seconds above 0 and at most ${MAX_SECONDS}`);
  };
}

/** A whole number from `least` to `most`. */
export function count(name: string, least = 0, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`;
    throw wrong(name, `is no whole number ${range}`);
  };
}

/** A day that there is, as `YYYY-MM-DD`. */
export function day(name: string): (text: string) => string {
  return (text) => {
    const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
    if (!Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === text) return text;
    throw wrong(name, 'is no day as YYYY-MM-DD');
  };
}

/** Without a hint, whoever knows which command it is says how its help is had. */
function wrong(name: string, what: string, hint?: string) {
  return new FairleadError('usage', `${name} ${what}.`, hint === undefined ? {} : { hint });
}

/** Command lines for the end of a command's help. */
export function examples(...lines: readonly string[]): string {
  const title = lines.length === 1 ? 'Example' : 'Examples';
  return [`\n${title}:`, ...lines.map((each) => `  $ fairlead ${each}`)].join('\n');
}
