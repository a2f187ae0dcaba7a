import type { Terminal } from '@xterm/headless';
import { BITS, internalsOf, underlineKind } from '../../sidecar/ptyhost/xterm-internals.ts';

/** Everything of a terminal that a person or a program could notice, in a form that compares well. */
export function terminalState(terminal: Terminal) {
  const core = internalsOf(terminal);
  const { buffers } = core._bufferService;
  const alternate = buffers.active === buffers.alt;
  const shown = alternate ? [buffers.normal, buffers.alt] : [buffers.normal];
  return {
    rows: shown.map((buffer) => {
      const rows: string[] = [];
      for (let index = 0; index < buffer.lines.length; index += 1) {
        const line = buffer.lines.get(index);
        if (line === undefined) continue;
        let row = line.isWrapped && index > 0 ? '↪ ' : '';
        for (let column = 0; column < line.length; column += 1) row += cell(core, line, column);
        rows.push(row);
      }
      return rows;
    }),
    cursor: { x: buffers.active.x, y: buffers.active.y, hidden: core.coreService.isCursorHidden },
    modes: {
      ...terminal.modes,
      encoding: core.coreMouseService.activeEncoding,
      ...core.coreService.decPrivateModes,
    },
    region: [buffers.active.scrollTop, buffers.active.scrollBottom],
  };

  function cell(
    inner: typeof core,
    line: NonNullable<ReturnType<typeof buffers.active.lines.get>>,
    column: number,
  ): string {
    const text = line.getString(column);
    // The second half of a wide character, which xterm.js sometimes gives a width of its own.
    if (text === '' && column > 0 && line.getWidth(column - 1) === 2) return '';
    const fg = withoutRemains(line.getFg(column));
    const bg = withoutRemains(line.getBg(column));
    const extended = (bg & BITS.bg.extended) !== 0 ? line._extendedAttrs[column] : undefined;
    const link = extended?.urlId ? inner._oscLinkService.getLinkData(extended.urlId) : undefined;
    const plainBg = bg & ~BITS.bg.extended;
    // A blank cell without visible attributes is blank, whether it was never written, erased or written with a space.
    const shown = text === '' ? ' ' : text;
    const attributes = [
      shown === ' ' && (fg & ~(BITS.color | BITS.colorMode)) === 0
        ? ''
        : fg
          ? `f${(fg >>> 0).toString(16)}`
          : '',
      plainBg ? `b${(plainBg >>> 0).toString(16)}` : '',
      extended && fg & BITS.fg.underline
        ? `u${underlineKind(extended)}:${withoutRemains(extended.underlineColor)}`
        : '',
      link ? `l${link.uri}` : '',
    ].join('');
    return attributes === '' ? shown : `{${attributes}|${shown}}`;
  }
}

/** xterm.js leaves bits of an earlier colour in the word when the mode becomes a palette's. */
function withoutRemains(word: number): number {
  const mode = word & BITS.colorMode;
  if (mode === BITS.rgb) return word;
  return mode === 0 ? word & ~BITS.color : word & ~(BITS.color & ~0xff);
}
