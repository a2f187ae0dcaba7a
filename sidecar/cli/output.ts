import { stripVTControlCharacters, styleText } from 'node:util';
import type { FairleadError } from '../protocol/errors.ts';

type Style = Parameters<typeof styleText>[0];

/** Where a command writes: one JSON value (or one a line, for a stream) with `--json`, text for people without. */
export class Output {
  readonly json: boolean;
  readonly #out: NodeJS.WriteStream;
  readonly #err: NodeJS.WriteStream;

  constructor(json: boolean, out = process.stdout, err = process.stderr) {
    this.json = json;
    this.#out = out;
    this.#err = err;
  }

  /** The result of the command: `value` with `--json`, else what `text` makes of it. */
  result<T>(value: T, text: (value: T) => string): void {
    this.line(this.json ? JSON.stringify(value) : text(value));
  }

  line(text: string): void {
    if (text !== '') this.#out.write(text.endsWith('\n') ? text : `${text}\n`);
  }

  /** Something the person should know beside the result; not part of what scripts read. */
  note(text: string): void {
    if (!this.json) this.#err.write(`${text}\n`);
  }

  /** What the person can do next; not part of what scripts read. */
  hint(text: string): void {
    if (!this.json) this.#err.write(`${this.#paint('dim', 'hint:', this.#err)}  ${printable(text)}\n`);
  }

  /** A {@link note} that stands back. */
  dim(text: string): void {
    this.note(this.#paint('dim', text, this.#err));
  }

  error(error: FairleadError): void {
    const { code, message, hint, data } = error;
    if (this.json) {
      this.#err.write(
        `${JSON.stringify({ error: { code, message, hint: hint ?? null, ...(data === undefined ? {} : { data }) } })}\n`,
      );
      return;
    }
    this.#err.write(`${this.#paint('red', 'error:', this.#err)} ${printable(message)}\n`);
    for (const path of pathsOf(data)) this.#err.write(`        ${printable(path)}\n`);
    if (hint !== undefined) this.hint(hint);
  }

  /** Text that an agent wrote: unchanged for a pipe, harmless for a terminal. */
  untrusted(text: string): string {
    return this.#out.isTTY ? printable(text) : text;
  }

  paint(style: Style, text: string): string {
    return this.#paint(style, text, this.#out);
  }

  /** Columns that a line may have; a terminal that does not know its size (0 columns) cuts nothing. */
  get width(): number {
    return (this.#out.isTTY && this.#out.columns) || Number.POSITIVE_INFINITY;
  }

  #paint(style: Style, text: string, stream: NodeJS.WriteStream): string {
    return styleText(style, text, { stream, validateStream: true });
  }
}

/** How many paths an error shows; the rest is counted. */
const MAX_PATHS = 20;

/** The paths that an error is about, as its data has them. */
function pathsOf(data: unknown): string[] {
  const list = Array.isArray(data)
    ? data
    : typeof data === 'object' && data !== null && 'paths' in data
      ? data.paths
      : [];
  const paths = Array.isArray(list) ? list.filter((path) => typeof path === 'string') : [];
  return paths.length <= MAX_PATHS
    ? paths
    : [...paths.slice(0, MAX_PATHS), `… and ${paths.length - MAX_PATHS} more`];
}

/** `text` without what a terminal would act on. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}

/** What somebody has said, as mail has it. */
export function quotedText(text: string): string {
  return printable(text)
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
}

/** Rows under a header, in columns as wide as their widest cell; the last column is cut at `width`. */
export function table(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => visibleWidth(row[column] ?? ''))));
  return all
    .map((row) => {
      const cells = row.map((cell, column) =>
        column === row.length - 1 ? cell : cell + ' '.repeat((widths[column] ?? 0) - visibleWidth(cell)),
      );
      return cut(cells.join('  '), width).trimEnd();
    })
    .join('\n');
}

let segmenter: Intl.Segmenter | undefined;

/** `text` in what people see as characters. What cuts it up is made at first use, for that takes 8 ms. */
function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text);
}

/** Terminal columns of `text`: wide East Asian characters and emoji count twice. Source: UAX #11, by script. */
export function visibleWidth(text: string): number {
  let width = 0;
  for (const { segment } of segmentsOf(stripVTControlCharacters(text))) width += segmentWidth(segment);
  return width;
}

function segmentWidth(segment: string): number {
  if (/^[\p{M}\p{Cf}]+$/u.test(segment)) return 0;
  return /\p{Emoji_Presentation}|\ufe0f|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|[\u3000-\u303f\uff01-\uff60]/u.test(
    segment,
  )
    ? 2
    : 1;
}

/** `text` in at most `width` terminal columns; what was cut shows as `…`. Styles are kept whole. */
export function cut(text: string, width: number): string {
  if (visibleWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  let full = false;
  for (const part of text.match(/\u001b\[[0-9;]*m|[^\u001b]+|\u001b/gu) ?? []) {
    if (part.startsWith('\u001b')) {
      kept += part;
      continue;
    }
    for (const { segment } of segmentsOf(part)) {
      const columns = segmentWidth(segment);
      full ||= used + columns > width - 1;
      if (full) break;
      kept += segment;
      used += columns;
    }
  }
  // Before the sequences at its end, which put the style back.
  return kept.replace(/((?:\u001b\[[0-9;]*m)*)$/, '…$1');
}
