import { parseStatus, type StatusMessage } from './program-status.ts';

/** Longest OSC 7501 that is read, in bytes; of a longer one the rest is dropped. */
const MAX_STATUS_BYTES = 64 * 1024;

const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;
const ESC = 0x1b;
const C2 = 0xc2;
/** `7501`, and the semicolon behind it. */
const NUMBER = [0x37, 0x35, 0x30, 0x31];
const SEMICOLON = 0x3b;

/** Where the parser of a terminal would be. */
type State =
  | 'ground'
  /** After ESC alone. The ESC is withheld: it may begin an OSC 7501. */
  | 'escape'
  /** After ESC and a control that was carried out on the way: as `escape`, with nothing withheld. */
  | 'loose-escape'
  /** After ESC and intermediate bytes. */
  | 'intermediate'
  | 'csi'
  /** Inside OSC, DCS, SOS, PM or APC. */
  | 'string'
  /** Inside an OSC that may still turn out to be 7501; all of it is withheld. */
  | 'prefix'
  /** Inside an OSC 7501. */
  | 'status'
  /** After ESC inside an OSC 7501; the ESC is withheld. */
  | 'status-escape'
  /** After 0xC2, which is withheld: the first byte of a C1 control or of a Latin-1 character. */
  | 'c2';

export interface Filtered {
  /** Output for screens and clients, OSC 7501 removed. */
  bytes: Buffer;
  /**
   * Length of the longest part of `bytes` after which a terminal's parser is at rest, that is not inside an escape
   * sequence or a UTF-8 character. -1 when it is nowhere at rest, not even before them.
   */
  rest: number;
  messages: StatusMessage[];
}

/**
 * Takes OSC 7501 out of a program's output, and knows where escape sequences and characters end, however the output
 * is cut into chunks. Follows the states of the VT500 parser as xterm.js has them: CAN and SUB end any sequence, ESC
 * ends a string and begins another, C1 controls come as two bytes of UTF-8. Where the two could differ it holds
 * itself inside a sequence for longer, never for shorter.
 */
export class OutputFilter {
  #state: State = 'ground';
  /** The state in which 0xC2 was met. */
  #beforeC2: State = 'ground';
  /** Whether the string is an OSC, which BEL ends too. */
  #osc = false;
  /** Continuation bytes still to come of a character in the ground state. */
  #utf8 = 0;
  /** Withheld bytes of earlier chunks. */
  #held: Buffer = Buffer.alloc(0);
  #matched = 0;
  #body: number[] = [];

  // The chunk at hand.
  #chunk: Buffer = this.#held;
  #out: Buffer[] = [];
  #outLength = 0;
  /** Start of what is to be passed on. */
  #from = 0;
  /** Start of what is withheld; -1 when it begins in `#held`, or nothing is. */
  #holdFrom = -1;
  #messages: StatusMessage[] = [];

  push(chunk: Buffer): Filtered {
    this.#chunk = chunk;
    this.#out = [];
    this.#outLength = 0;
    this.#from = 0;
    this.#holdFrom = -1;
    this.#messages = [];
    let rest = this.#atRest() ? 0 : -1;
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === 'ground' && this.#utf8 === 0) {
        const plain = at;
        while (at < chunk.length) {
          const byte = chunk[at] ?? 0;
          if (byte === ESC || byte >= 0x80) break;
          at += 1;
        }
        if (at > plain) rest = this.#outLength + at - this.#from;
        if (at === chunk.length) break;
      }
      // A byte that ends one state without belonging to it is read again in the next.
      if (this.#step(chunk[at] ?? 0, at)) at += 1;
      if (this.#atRest()) rest = this.#outLength + at - this.#from;
    }
    if (this.#isWithholding()) {
      const start = Math.max(this.#holdFrom, 0);
      if (this.#holdFrom >= 0) this.#emit(chunk.subarray(this.#from, start));
      this.#held = Buffer.concat([this.#held, chunk.subarray(start)]);
    } else if (this.#state !== 'status') {
      this.#emit(chunk.subarray(this.#from));
    }
    const [only, ...more] = this.#out;
    const bytes = only !== undefined && more.length === 0 ? only : Buffer.concat(this.#out);
    this.#out = [];
    return { bytes, rest, messages: this.#messages };
  }

  #atRest(): boolean {
    return this.#state === 'ground' && this.#utf8 === 0;
  }

  #isWithholding(): boolean {
    const state = this.#state;
    return state === 'escape' || state === 'prefix' || state === 'status-escape' || state === 'c2';
  }

  #emit(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#out.push(bytes);
    this.#outLength += bytes.length;
  }

  /** What is withheld turned out to be ordinary. In this chunk it is part of what is passed on anyway. */
  #release(): void {
    this.#emit(this.#held);
    this.#held = Buffer.alloc(0);
    this.#holdFrom = -1;
  }

  /** What is withheld turned out to begin an OSC 7501: it goes, with all up to its terminator. */
  #swallow(): void {
    if (this.#holdFrom >= 0) this.#emit(this.#chunk.subarray(this.#from, this.#holdFrom));
    this.#held = Buffer.alloc(0);
    this.#holdFrom = -1;
    this.#body = [];
  }

  #withhold(state: State, at: number): void {
    this.#state = state;
    this.#holdFrom = at;
  }

  /** Reads one byte. False when it is to be read again in the state that was entered. */
  #step(byte: number, at: number): boolean {
    switch (this.#state) {
      case 'ground':
        return this.#stepGround(byte, at);
      case 'escape':
        return this.#stepEscape(byte, at);
      case 'loose-escape':
      case 'intermediate':
      case 'csi':
      case 'string':
        return this.#stepInside(byte, at);
      case 'prefix':
        return this.#stepPrefix(byte, at);
      case 'status':
        return this.#stepStatus(byte, at);
      case 'status-escape':
        return this.#stepStatusEscape(byte, at);
      case 'c2':
        return this.#stepC2(byte);
    }
  }

  #stepGround(byte: number, at: number): boolean {
    if (this.#utf8 > 0) {
      if ((byte & 0xc0) === 0x80) {
        this.#utf8 -= 1;
        return true;
      }
      this.#utf8 = 0;
    }
    if (byte === ESC) this.#withhold('escape', at);
    else if (byte === C2) this.#meetC2(at);
    else if (byte >= 0xf0) this.#utf8 = 3;
    else if (byte >= 0xe0) this.#utf8 = 2;
    else if (byte >= 0xc0) this.#utf8 = 1;
    return true;
  }

  #meetC2(at: number): void {
    this.#beforeC2 = this.#state;
    this.#withhold('c2', at);
  }

  #stepC2(byte: number): boolean {
    if (byte >= 0x80 && byte <= 0x9f) {
      if (byte === 0x9d) {
        this.#state = 'prefix';
        this.#matched = 0;
        return true;
      }
      this.#release();
      if (byte === 0x9b) this.#state = 'csi';
      else if (byte === 0x90 || byte === 0x98 || byte === 0x9e || byte === 0x9f) this.#enterString(false);
      else this.#state = 'ground';
      return true;
    }
    this.#release();
    this.#state = this.#beforeC2;
    return (byte & 0xc0) === 0x80;
  }

  #stepEscape(byte: number, at: number): boolean {
    if (byte === 0x5d) {
      this.#state = 'prefix';
      this.#matched = 0;
      return true;
    }
    this.#release();
    if (byte === ESC) this.#withhold('escape', at);
    else if (byte === 0x5b) this.#state = 'csi';
    else if (byte === 0x50 || byte === 0x58 || byte === 0x5e || byte === 0x5f) this.#enterString(false);
    else if (byte === CAN || byte === SUB || (byte >= 0x30 && byte <= 0x7e)) this.#state = 'ground';
    else {
      this.#state = byte >= 0x20 && byte <= 0x2f ? 'intermediate' : 'loose-escape';
      return byte !== C2;
    }
    return true;
  }

  #enterString(osc: boolean): void {
    this.#state = 'string';
    this.#osc = osc;
  }

  /** Inside an ordinary sequence, which passes through. */
  #stepInside(byte: number, at: number): boolean {
    if (byte === ESC) this.#withhold('escape', at);
    else if (byte === C2) this.#meetC2(at);
    else if (byte === CAN || byte === SUB) this.#state = 'ground';
    else if (this.#state === 'string') {
      if (byte === BEL && this.#osc) this.#state = 'ground';
    } else if (this.#state === 'csi') {
      if (byte >= 0x40 && byte <= 0x7e) this.#state = 'ground';
    } else if (this.#state === 'intermediate' || byte < 0x30 || byte > 0x7e) {
      if (byte >= 0x30 && byte <= 0x7e) this.#state = 'ground';
      else if (byte >= 0x20 && byte <= 0x2f) this.#state = 'intermediate';
    } else if (byte === 0x5b) {
      this.#state = 'csi';
    } else if (byte === 0x5d) {
      // An OSC whose ESC has been passed on: it has to pass as well, whatever its number.
      this.#enterString(true);
    } else if (byte === 0x50 || byte === 0x58 || byte === 0x5e || byte === 0x5f) {
      this.#enterString(false);
    } else {
      this.#state = 'ground';
    }
    return true;
  }

  #stepPrefix(byte: number, at: number): boolean {
    if (this.#matched < NUMBER.length) {
      if (byte === NUMBER[this.#matched]) {
        this.#matched += 1;
        return true;
      }
    } else if (byte === SEMICOLON || byte === BEL || byte === ESC) {
      this.#swallow();
      this.#from = at + 1;
      if (byte === SEMICOLON) this.#state = 'status';
      else if (byte === BEL) this.#state = 'ground';
      else this.#withhold('status-escape', at);
      return true;
    }
    this.#release();
    this.#enterString(true);
    return false;
  }

  #stepStatus(byte: number, at: number): boolean {
    this.#from = at + 1;
    if (byte === ESC) this.#withhold('status-escape', at);
    else if (byte === BEL) this.#finishStatus();
    else if (byte === CAN || byte === SUB) this.#state = 'ground';
    else if (this.#body.length < MAX_STATUS_BYTES) this.#body.push(byte);
    return true;
  }

  #stepStatusEscape(byte: number, at: number): boolean {
    this.#finishStatus();
    if (byte === 0x5c) {
      this.#held = Buffer.alloc(0);
      this.#holdFrom = -1;
      this.#from = at + 1;
      return true;
    }
    // The ESC ended the report and begins a sequence of its own.
    this.#from = Math.max(this.#holdFrom, 0);
    this.#state = 'escape';
    return false;
  }

  #finishStatus(): void {
    const message = parseStatus(Buffer.from(this.#body).toString('latin1'));
    if (message !== undefined) this.#messages.push(message);
    this.#body = [];
    this.#state = 'ground';
  }
}
