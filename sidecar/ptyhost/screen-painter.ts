import {
  type Attributes,
  BITS,
  type Charset,
  type CoreBuffer,
  type CoreLine,
  type ExtendedAttributes,
  type Internals,
  underlineKind,
} from './xterm-internals.ts';

const ESC = '\u001b';
const CSI = `${ESC}[`;

/** The colour in an attribute word, as against its flags. */
const HUE = BITS.color | BITS.colorMode;

/** What one terminal knows beyond its buffers. */
export interface PaintedModes {
  /** The final byte that designates a character set, or undefined for ASCII. */
  designatorOf(charset: Charset): string | undefined;
  title: string;
  /** Flags of the kitty keyboard protocol, the oldest of the stack first. */
  kittyFlags: readonly number[];
  applicationCursorKeys: boolean;
  bracketedPaste: boolean;
  focusEvents: boolean;
  insert: boolean;
  origin: boolean;
  reverseWraparound: boolean;
  wraparound: boolean;
  mouse: 'none' | 'x10' | 'vt200' | 'drag' | 'any';
}

/**
 * Text that turns a terminal of the same size which was just reset into a copy of `core`: `scrollback` kept rows,
 * the visible rows, every cell with its attributes, wraps, the cursor with a wrap that is due, and the modes.
 *
 * `@xterm/addon-serialize` does the same with less: it leaves out the cursor's visibility, scroll region, saved
 * cursor, tab stops, character sets, mouse encoding, kitty keyboard, title, hyperlinks and kinds of underline, and
 * loses `dim` where `bold` ends.
 *
 * Not copied: colours of the palette, whether the first row continues one that is gone, a blank cell's foreground, and
 * a wrap that is due behind a last column which was blanked meanwhile.
 */
export function paint(
  core: Internals,
  size: { cols: number; rows: number },
  scrollback: number,
  modes: PaintedModes,
): string {
  const { buffers } = core._bufferService;
  const alternate = buffers.active === buffers.alt;
  const parts: string[] = [];
  const painter = new RowPainter(core, size.cols, size.rows, parts);
  painter.rows(buffers.normal, Math.max(0, buffers.normal.ybase - scrollback));
  parts.push(`${CSI}0m`, ownState(core, buffers.normal, size, modes));
  if (alternate) {
    parts.push(`${CSI}?1047h${CSI}H`);
    painter.rows(buffers.alt, buffers.alt.ybase);
    parts.push(`${CSI}0m`, ownState(core, buffers.alt, size, modes));
  }
  const buffer = buffers.active;
  if (modes.origin) parts.push(`${CSI}?6h`);
  const cursor = cursorText(core, buffer, size.cols, modes);
  // A character set that only a restored cursor brings back has to come before the cursor is placed.
  if (hasStrayCharset(core)) parts.push(charsets(core, modes), `${ESC}8`, cursor.before);
  else parts.push(cursor.before, charsets(core, modes));
  parts.push(modeText(core, modes));
  if (modes.title !== '') parts.push(`${ESC}]2;${modes.title}${ESC}\\`);
  for (const flags of modes.kittyFlags) parts.push(`${CSI}>${flags}u`);
  parts.push(cursor.after);
  return parts.join('');
}

/** What each of the two screens has for itself. */
function ownState(
  core: Internals,
  buffer: CoreBuffer,
  size: { cols: number; rows: number },
  modes: PaintedModes,
): string {
  const whole = buffer.scrollTop === 0 && buffer.scrollBottom === size.rows - 1;
  const region = whole ? '' : `${CSI}${buffer.scrollTop + 1};${buffer.scrollBottom + 1}r`;
  return region + tabStops(buffer, size.cols) + savedCursor(core, buffer, modes);
}

/** Paints rows top down on a blank screen, so that they scroll into the scrollback by themselves. */
class RowPainter {
  readonly #core: Internals;
  readonly #cols: number;
  readonly #rows: number;
  readonly #parts: string[];
  #style = '';
  #link = 0;

  constructor(core: Internals, cols: number, rows: number, parts: string[]) {
    this.#core = core;
    this.#cols = cols;
    this.#rows = rows;
    this.#parts = parts;
  }

  rows(buffer: CoreBuffer, start: number): void {
    this.#style = '';
    const end = buffer.ybase + this.#rows;
    for (let row = start; row < end; row += 1) {
      const line = buffer.lines.get(row);
      if (line === undefined) continue;
      const next = row + 1 < end ? buffer.lines.get(row + 1) : undefined;
      const reached = this.#cells(line, 0, next?.isWrapped === true);
      if (next === undefined) break;
      if (next.isWrapped && this.#rows > 1) this.#wrap(line, next, reached);
      else {
        this.#plain();
        this.#parts.push('\r\n');
      }
    }
    this.#plain();
  }

  /** Paints the cells from `from` on; gives the column behind the last one that is not blank. */
  #cells(line: CoreLine, from: number, _wraps: boolean): number {
    const cols = Math.min(this.#cols, line.length);
    let blank = 0;
    let blankStyle = '';
    let reached = from;
    const skip = (toEnd: boolean) => {
      if (blank === 0) return;
      if (blankStyle !== '') {
        this.#setStyle(blankStyle, 0);
        this.#parts.push(`${CSI}${blank}X`);
      }
      if (!toEnd) this.#parts.push(`${CSI}${blank}C`);
      blank = 0;
    };
    for (let column = from; column < cols; column += 1) {
      const text = line.getString(column);
      const width = line.getWidth(column);
      const fg = line.getFg(column);
      const bg = line.getBg(column);
      // The second half of a wide character; one that lost its first half is a blank.
      if (text === '' && width === 0 && column > 0 && line.getWidth(column - 1) === 2) continue;
      if (text === '' && (fg & ~HUE) === 0 && (bg & ~HUE) === 0) {
        const style = bg === 0 ? '' : styleText(0, bg, undefined);
        if (blank > 0 && style !== blankStyle) skip(false);
        blankStyle = style;
        blank += 1;
        continue;
      }
      skip(false);
      const extended = (bg & BITS.bg.extended) !== 0 ? line._extendedAttrs[column] : undefined;
      // A character without width must not join the one before: any sequence in between parts them.
      if (width === 0) this.#style = '?';
      this.#setStyle(styleText(fg, bg, extended), extended?.urlId ?? 0);
      this.#parts.push(text === '' || isCutWide(line, column, cols) ? ' ' : text);
      if (width === 0) this.#style = '?';
      reached = column + (isCutWide(line, column, cols) ? 1 : Math.max(width, 1));
    }
    skip(true);
    return reached;
  }

  /** Goes on to a row that continues this one: only printing over the edge makes a terminal remember that. */
  #wrap(line: CoreLine, next: CoreLine, reached: number): void {
    const width = next.getWidth(0);
    const text = next.getString(0);
    const fits =
      reached === this.#cols || (width === 2 && reached === this.#cols - 1 && sameBlank(line, next));
    if (fits && text !== '' && width > 0) {
      const bg = next.getBg(0);
      if ((bg & BITS.colorMode) === 0) return; // The first cell of the next row does it.
    }
    this.#plain();
    const missing = this.#cols - reached;
    // From `reached` on the row is blank: fill it, step over the edge, come back and blank it again.
    if (missing > 0) this.#parts.push(`${CSI}${reached + 1}G${' '.repeat(missing)}`);
    this.#parts.push(' ');
    if (missing > 0) {
      this.#parts.push(`${CSI}A${CSI}${reached + 1}G${CSI}${missing}X`);
      this.#cells(line, reached, false);
      this.#plain();
      this.#parts.push(`${CSI}B`);
    }
    this.#parts.push(`\r${CSI}X`);
  }

  #plain(): void {
    if (this.#link !== 0) this.#parts.push(`${ESC}]8;;${ESC}\\`);
    this.#link = 0;
    if (this.#style !== '') this.#parts.push(`${CSI}0m`);
    this.#style = '';
  }

  #setStyle(style: string, link: number): void {
    if (link !== this.#link) {
      this.#parts.push(linkText(this.#core, link));
      this.#link = link;
    }
    if (style === this.#style) return;
    this.#style = style;
    this.#parts.push(`${CSI}0${style}m`);
  }
}

/** A wide character of which the second half was written over, or has no room: it cannot be printed. */
function isCutWide(line: CoreLine, column: number, cols: number): boolean {
  if (line.getWidth(column) !== 2) return false;
  return column + 1 >= cols || line.getWidth(column + 1) !== 0 || line.getString(column + 1) !== '';
}

/** Whether the column left free before a wide character is as the wrap leaves it. */
function sameBlank(line: CoreLine, next: CoreLine): boolean {
  const last = line.length - 1;
  return (
    line.getString(last) === '' &&
    (line.getFg(last) & ~HUE) === 0 &&
    line.getBg(last) === 0 &&
    next.getBg(0) === 0 &&
    (next.getFg(0) & ~HUE) === 0
  );
}

/** Parameters of SGR behind a 0, each with its semicolon. */
function styleText(fg: number, bg: number, extended: ExtendedAttributes | undefined): string {
  if (fg === 0 && bg === 0) return '';
  let text = '';
  if (fg & BITS.fg.bold) text += ';1';
  if (bg & BITS.bg.dim) text += ';2';
  if (bg & BITS.bg.italic) text += ';3';
  if (fg & BITS.fg.underline) {
    const kind = underlineKind(extended);
    text += kind > 1 ? `;4:${kind}` : ';4';
  }
  if (fg & BITS.fg.blink) text += ';5';
  if (fg & BITS.fg.inverse) text += ';7';
  if (fg & BITS.fg.invisible) text += ';8';
  if (fg & BITS.fg.strikethrough) text += ';9';
  if (bg & BITS.bg.overline) text += ';53';
  text += colorText(fg, 30, 90, 38) + colorText(bg, 40, 100, 48);
  if (fg & BITS.fg.underline) text += underlineColor(extended);
  return text;
}

function underlineColor(extended: ExtendedAttributes | undefined): string {
  return extended === undefined ? '' : colorText(extended.underlineColor, 0, 0, 58);
}

function colorText(word: number, base: number, bright: number, long: number): string {
  const color = word & BITS.color;
  switch (word & BITS.colorMode) {
    case BITS.rgb:
      return `;${long};2;${(color >> 16) & 0xff};${(color >> 8) & 0xff};${color & 0xff}`;
    case BITS.palette16: {
      const index = color & 0xff;
      if (long === 58) return `;58;5;${index}`;
      return `;${index & 8 ? bright + (index & 7) : base + index}`;
    }
    case BITS.palette256:
      return `;${long};5;${color & 0xff}`;
    default:
      return '';
  }
}

function linkText(core: Internals, urlId: number): string {
  const link = urlId === 0 ? undefined : core._oscLinkService.getLinkData(urlId);
  if (link === undefined) return `${ESC}]8;;${ESC}\\`;
  // A link without an id is one link only as long as it is not interrupted, and painting interrupts it.
  return `${ESC}]8;id=${link.id ?? `fairlead-${urlId}`};${link.uri}${ESC}\\`;
}

function penText(core: Internals, pen: Attributes): string {
  const extended = (pen.bg & BITS.bg.extended) !== 0 ? pen.extended : undefined;
  const link = extended === undefined || extended.urlId === 0 ? '' : linkText(core, extended.urlId);
  const guarded = (pen.bg & BITS.bg.protected) !== 0 ? `${CSI}1"q` : '';
  // The pen keeps the colour of an underline that is to come.
  const color = pen.fg & BITS.fg.underline ? '' : underlineColor(pen.extended);
  return `${CSI}0${styleText(pen.fg, pen.bg, extended)}${color}m${guarded}${link}`;
}

function tabStops(buffer: CoreBuffer, cols: number): string {
  const stops: number[] = [];
  let usual = true;
  for (let column = 0; column < cols; column += 1) {
    const stop = buffer.tabs[column] === true;
    if (stop) stops.push(column);
    if (stop !== (column % 8 === 0)) usual = false;
  }
  if (usual) return '';
  return `${CSI}3g${stops.map((column) => `${CSI}${column + 1}G${ESC}H`).join('')}`;
}

function savedCursor(core: Internals, buffer: CoreBuffer, modes: PaintedModes): string {
  const row = Math.max(buffer.savedY - buffer.ybase, 0);
  const pen = buffer.savedCurAttrData;
  if (buffer.savedX === 0 && row === 0 && pen.fg === 0 && pen.bg === 0 && buffer.savedCharset === undefined)
    return '';
  const designator = modes.designatorOf(buffer.savedCharset);
  const charset = designator === undefined ? ['', ''] : [`${ESC}(${designator}`, `${ESC}(B`];
  return `${CSI}${row + 1};${buffer.savedX + 1}H${penText(core, pen)}${charset[0]}${ESC}7${charset[1]}${CSI}0m`;
}

/** Restoring a cursor can bring back a character set that is designated nowhere. */
function hasStrayCharset(core: Internals): boolean {
  const { _charsets: sets, glevel, charset } = core._charsetService;
  return charset !== sets[glevel] && core._bufferService.buffers.active.savedCharset === charset;
}

function charsets(core: Internals, modes: PaintedModes): string {
  const { _charsets: sets, glevel } = core._charsetService;
  let text = '';
  for (const [level, introducer] of ['(', ')', '*', '+'].entries()) {
    const designator = modes.designatorOf(sets[level]);
    if (designator !== undefined) text += `${ESC}${introducer}${designator}`;
  }
  if (glevel > 0) text += ['', '\u000e', `${ESC}n`, `${ESC}o`][glevel] ?? '';
  return text;
}

function modeText(core: Internals, modes: PaintedModes): string {
  const { decPrivateModes: dec, isCursorHidden } = core.coreService;
  let text = '';
  if (modes.applicationCursorKeys) text += `${CSI}?1h`;
  if (dec.applicationKeypad) text += `${ESC}=`;
  if (modes.bracketedPaste) text += `${CSI}?2004h`;
  if (modes.reverseWraparound) text += `${CSI}?45h`;
  if (!modes.wraparound) text += `${CSI}?7l`;
  if (modes.focusEvents) text += `${CSI}?1004h`;
  if (modes.insert) text += `${CSI}4h`;
  if (isCursorHidden) text += `${CSI}?25l`;
  if (dec.cursorStyle !== undefined) {
    const style = { block: 2, underline: 4, bar: 6 }[dec.cursorStyle];
    text += `${CSI}${dec.cursorBlink === true ? style - 1 : style} q`;
  } else if (dec.cursorBlink !== undefined) {
    text += `${CSI}?12${dec.cursorBlink ? 'h' : 'l'}`;
  }
  const mouse = { none: '', x10: '9', vt200: '1000', drag: '1002', any: '1003' }[modes.mouse];
  if (mouse !== '') text += `${CSI}?${mouse}h`;
  const encoding = core.coreMouseService.activeEncoding;
  if (encoding === 'SGR') text += `${CSI}?1006h`;
  else if (encoding === 'SGR_PIXELS') text += `${CSI}?1016h`;
  return text;
}

/**
 * The cursor, and whether the next character wraps, joins the last one, or can be repeated. Only printing brings that
 * about, so the last character is printed once more: `after` the modes when it was the last thing that happened, since
 * they were in force then, `before` them when only the wrap is left of it.
 */
function cursorText(
  core: Internals,
  buffer: CoreBuffer,
  cols: number,
  modes: PaintedModes,
): { before: string; after: string } {
  const row = modes.origin ? buffer.y - buffer.scrollTop : buffer.y;
  const pen = penText(core, core._inputHandler._curAttrData);
  const at = (column: number) => `${CSI}${row + 1};${column + 1}H`;
  const printed = core._inputHandler._parser.precedingJoinState !== 0;
  const line = buffer.lines.get(buffer.ybase + buffer.y);
  const last = line === undefined || buffer.x === 0 ? -1 : lastCharacter(line, buffer.x);
  if (line === undefined || last < 0 || !(printed || buffer.x >= cols)) {
    return { before: '', after: at(Math.min(buffer.x, cols - 1)) + pen };
  }
  const { fg: penFg, bg: penBg } = core._inputHandler._curAttrData;
  // With wraparound off a character that found no room was the last, and the one before the cursor is an older one.
  if (printed && line.getFg(last) === penFg && line.getBg(last) === penBg) {
    // In insert mode it would push the row to the right: it is taken out first.
    const take = modes.insert ? `${CSI}${line.getWidth(last)}P` : '';
    return { before: '', after: at(last) + pen + take + line.getString(last) };
  }
  if (buffer.x < cols) return { before: '', after: at(buffer.x) + pen };
  const bg = line.getBg(last);
  const extended = (bg & BITS.bg.extended) !== 0 ? line._extendedAttrs[last] : undefined;
  const own = penText(core, {
    fg: line.getFg(last),
    bg,
    extended: extended ?? { _ext: 0, underlineColor: 0, urlId: 0 },
  });
  const leave = extended?.urlId ? `${ESC}]8;;${ESC}\\` : '';
  return { before: at(last) + own + line.getString(last) + leave, after: pen };
}

/** The column of the character that printing left the cursor at `x` behind, or -1 when that was none. */
function lastCharacter(line: CoreLine, x: number): number {
  const column = line.getWidth(x - 1) === 0 && line.getString(x - 1) === '' ? x - 2 : x - 1;
  return column >= 0 && line.getString(column) !== '' && column + line.getWidth(column) === x ? column : -1;
}
