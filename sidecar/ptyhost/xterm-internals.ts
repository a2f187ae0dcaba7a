import type { Terminal } from '@xterm/headless';

/**
 * What the public interface of @xterm/headless 6.0.0 leaves out and a faithful snapshot needs. The version is pinned;
 * the property tests of the snapshot fail when one of these is no longer what it was.
 */
export interface Internals {
  /** Parses at once. `Terminal.write` does it later, in slices of up to 12 ms. */
  _inputHandler: {
    parse(data: Uint8Array): unknown;
    eraseInDisplay(params: EraseParams, respectProtect: boolean): unknown;
    eraseInLine(params: EraseParams, respectProtect: boolean): unknown;
    _curAttrData: Attributes;
    _parser: { precedingJoinState: number; currentState: number; reset(): void };
  };
  coreService: {
    isCursorHidden: boolean;
    decPrivateModes: {
      applicationKeypad: boolean;
      cursorBlink?: boolean | undefined;
      cursorStyle?: 'block' | 'underline' | 'bar' | undefined;
    };
  };
  coreMouseService: { activeEncoding: string };
  _charsetService: { charset: Charset; glevel: number; _charsets: Charset[] };
  _oscLinkService: { getLinkData(id: number): { id?: string | undefined; uri: string } | undefined };
  _bufferService: { buffers: { active: CoreBuffer; normal: CoreBuffer; alt: CoreBuffer } };
}

/** The one parameter of ED or EL. */
export interface EraseParams {
  params: ArrayLike<number>;
  length: number;
}

/** A translation table, or undefined for ASCII. */
export type Charset = object | undefined;

export interface CoreBuffer {
  x: number;
  y: number;
  ybase: number;
  scrollTop: number;
  scrollBottom: number;
  savedX: number;
  /** Counted from the first row that is kept. */
  savedY: number;
  savedCurAttrData: Attributes;
  savedCharset: Charset;
  tabs: Record<number, boolean | undefined>;
  lines: { length: number; get(index: number): CoreLine | undefined };
}

export interface CoreLine {
  length: number;
  isWrapped: boolean;
  getWidth(column: number): number;
  getFg(column: number): number;
  getBg(column: number): number;
  /** The character with what combines with it; empty for a cell that was never written or erased. */
  getString(column: number): string;
  _extendedAttrs: Record<number, ExtendedAttributes | undefined>;
}

export interface Attributes {
  fg: number;
  bg: number;
  extended: ExtendedAttributes;
}

export interface ExtendedAttributes {
  /** Holds the kind of underline in bits 27 to 29; `underlineStyle` hides it inside a hyperlink. */
  _ext: number;
  underlineColor: number;
  urlId: number;
}

/** Layout of the attribute words; `common/buffer/Constants.ts` of xterm.js. */
export const BITS = {
  color: 0xff_ffff,
  colorMode: 0x300_0000,
  palette16: 0x100_0000,
  palette256: 0x200_0000,
  rgb: 0x300_0000,
  fg: {
    inverse: 0x400_0000,
    bold: 0x800_0000,
    underline: 0x1000_0000,
    blink: 0x2000_0000,
    invisible: 0x4000_0000,
    strikethrough: 0x8000_0000,
  },
  bg: {
    italic: 0x400_0000,
    dim: 0x800_0000,
    extended: 0x1000_0000,
    protected: 0x2000_0000,
    overline: 0x4000_0000,
  },
} as const;

export function internalsOf(terminal: Terminal): Internals {
  return (terminal as Terminal & { _core: Internals })._core;
}

/** 0 none, 1 single, 2 double, 3 curly, 4 dotted, 5 dashed. */
export function underlineKind(extended: ExtendedAttributes | undefined): number {
  return extended === undefined ? 1 : (extended._ext >> 26) & 7;
}
