import xterm, { type Terminal as HeadlessTerminal } from '@xterm/headless';
import type { Size } from '../protocol/ptywire.ts';
import { type PaintedModes, paint } from './screen-painter.ts';
import { type Charset, internalsOf } from './xterm-internals.ts';

export interface ScreenListener {
  /** Answer to a query that the program sent. */
  reply(data: string): void;
  title(title: string): void;
  bell(): void;
}

export interface ScreenText {
  text: string[];
  cursor: { x: number; y: number; hidden: boolean };
  alternate: boolean;
}

/** Colours that are told to programs which ask while nobody is attached: light on dark. */
const COLORS: Readonly<Record<number, string>> = {
  10: 'rgb:d4d4/d4d4/d4d4',
  11: 'rgb:1e1e/1e1e/1e1e',
  12: 'rgb:d4d4/d4d4/d4d4',
};

const MAX_TITLE = 1_000;
const MAX_KITTY_STACK = 32;

/** The parsed state of one terminal: visible rows, some rows above them, modes. Parses when told to, at once. */
export class Screen {
  readonly #terminal: HeadlessTerminal;
  readonly #core;
  #title = '';
  #kitty: { normal: number[]; alternate: number[] } = { normal: [], alternate: [] };

  constructor(size: Size, rowsKept: number, listener: ScreenListener) {
    this.#terminal = new xterm.Terminal({
      ...size,
      scrollback: rowsKept,
      allowProposedApi: true,
      logLevel: 'off',
    });
    this.#core = internalsOf(this.#terminal);
    this.#terminal.onData((data) => listener.reply(data));
    this.#terminal.onBell(() => listener.bell());
    this.#terminal.onTitleChange((title) => {
      this.#title = cleanTitle(title);
      listener.title(this.#title);
    });
    for (const [number, color] of Object.entries(COLORS)) {
      this.#terminal.parser.registerOscHandler(Number(number), (data) => {
        if (data !== '?') return false;
        listener.reply(`\u001b]${number};${color}\u001b\\`);
        return true;
      });
    }
    this.#followKittyKeyboard();
    this.#mendEraseAbove();
  }

  get title(): string {
    return this.#title;
  }

  /** Gives the error when the emulator failed at it; what it had not parsed of `bytes` is then left out. */
  parse(bytes: Uint8Array): unknown {
    try {
      this.#core._inputHandler.parse(bytes);
      return undefined;
    } catch (error) {
      this.#core._inputHandler._parser.reset();
      return error;
    }
  }

  resize(size: Size): void {
    this.#terminal.resize(size.cols, size.rows);
  }

  dispose(): void {
    this.#terminal.dispose();
  }

  text(): ScreenText {
    const buffer = this.#terminal.buffer.active;
    const text: string[] = [];
    for (let row = 0; row < this.#terminal.rows; row += 1) {
      text.push(buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? '');
    }
    return {
      text,
      cursor: { x: buffer.cursorX, y: buffer.cursorY, hidden: this.#core.coreService.isCursorHidden },
      alternate: buffer.type === 'alternate',
    };
  }

  /** Rows above the visible ones that could be painted. */
  get keptRows(): number {
    return this.#terminal.buffer.normal.baseY;
  }

  /** Text that makes a terminal which was just reset show this screen, with `scrollback` kept rows above it. */
  paint(scrollback: number): string {
    return paint(
      this.#core,
      { cols: this.#terminal.cols, rows: this.#terminal.rows },
      scrollback,
      this.#modes(),
    );
  }

  #modes(): PaintedModes {
    const { modes } = this.#terminal;
    return {
      designatorOf,
      title: this.#title,
      kittyFlags: this.#kittyStack(),
      applicationCursorKeys: modes.applicationCursorKeysMode,
      bracketedPaste: modes.bracketedPasteMode,
      focusEvents: modes.sendFocusMode,
      insert: modes.insertMode,
      origin: modes.originMode,
      reverseWraparound: modes.reverseWraparoundMode,
      wraparound: modes.wraparoundMode,
      mouse: modes.mouseTrackingMode,
    };
  }

  /** xterm.js does not know the protocol; a terminal that does has one stack for each of its two screens. */
  #kittyStack(): number[] {
    return this.#kitty[this.#terminal.buffer.active.type];
  }

  /**
   * `CSI 1 J` in the last column of the last row makes xterm.js 6.0.0 throw when nothing is kept above (in the
   * alternate screen always): it looks at the row below the last.
   */
  #mendEraseAbove(): void {
    const { _inputHandler: handler, _bufferService: service } = this.#core;
    for (const prefix of ['', '?']) {
      this.#terminal.parser.registerCsiHandler({ ...(prefix && { prefix }), final: 'J' }, ([what]) => {
        const buffer = service.buffers.active;
        const { x } = buffer;
        const lastColumn = this.#terminal.cols - 1;
        if (what !== 1 || x < lastColumn || buffer.y + 1 < buffer.lines.length) return false;
        buffer.x = lastColumn - 1;
        handler.eraseInDisplay({ params: [1], length: 1 }, prefix !== '');
        buffer.x = x;
        handler.eraseInLine({ params: [2], length: 1 }, prefix !== '');
        return true;
      });
    }
  }

  #followKittyKeyboard(): void {
    const { parser } = this.#terminal;
    parser.registerCsiHandler({ prefix: '>', final: 'u' }, (params) => {
      const stack = this.#kittyStack();
      stack.push(first(params, 0));
      if (stack.length > MAX_KITTY_STACK) stack.shift();
      return true;
    });
    parser.registerCsiHandler({ prefix: '<', final: 'u' }, (params) => {
      const stack = this.#kittyStack();
      stack.splice(Math.max(0, stack.length - Math.max(1, first(params, 1))));
      return true;
    });
    parser.registerCsiHandler({ prefix: '=', final: 'u' }, (params) => {
      const stack = this.#kittyStack();
      const flags = first(params, 0);
      const before = stack.pop() ?? 0;
      const mode = params[1];
      stack.push(mode === 2 ? before | flags : mode === 3 ? before & ~flags : flags);
      return true;
    });
    parser.registerEscHandler({ final: 'c' }, () => {
      this.#kitty = { normal: [], alternate: [] };
      this.#title = '';
      return false;
    });
  }
}

function first(params: (number | number[])[], otherwise: number): number {
  const [value] = params;
  return typeof value === 'number' ? value : otherwise;
}

function cleanTitle(title: string): string {
  return title.replace(/[\u0000-\u001f\u007f-\u009f]/g, '').slice(0, MAX_TITLE);
}

/** Which byte designates which translation table of xterm.js, found by asking it. */
const designators = new Map<Charset, string>();

function designatorOf(charset: Charset): string | undefined {
  if (charset === undefined) return undefined;
  if (designators.size === 0) {
    const scratch = new xterm.Terminal({ cols: 2, rows: 1, logLevel: 'off', allowProposedApi: true });
    const core = internalsOf(scratch);
    for (const designator of ['0', 'A', '4', 'C', 'R', 'Q', 'K', 'Y', 'E', 'Z', 'H', '=']) {
      core._inputHandler.parse(Buffer.from(`\u001b(${designator}`));
      const [table] = core._charsetService._charsets;
      if (table !== undefined && !designators.has(table)) designators.set(table, designator);
    }
    scratch.dispose();
  }
  return designators.get(charset);
}
