type State = 'ground' | 'escape' | 'csi' | 'string' | 'string-escape';

/**
 * Follows terminal output as far as needed to know whether it is inside an escape sequence: only between sequences
 * may something else be written in between. Source: ECMA-48 §5.3–5.6 and the parser of xterm.js.
 */
export class GroundState {
  #state: State = 'ground';
  /** The output so far ends in the first half of a surrogate pair. */
  #half = false;

  /** Whether the output so far ends between two sequences and two characters. */
  get isGround(): boolean {
    return this.#state === 'ground' && !this.#half;
  }

  push(text: string): void {
    for (let index = 0; index < text.length; index += 1) {
      // Most of what comes is text: the next control is looked for by the engine.
      if (this.#state === 'ground') {
        CONTROL.lastIndex = index;
        const found = CONTROL.exec(text);
        if (found === null) break;
        index = found.index;
      }
      this.#state = this.#after(text.charCodeAt(index));
    }
    const last = text.charCodeAt(text.length - 1);
    this.#half = last >= 0xd800 && last <= 0xdbff;
  }

  #after(code: number): State {
    // CAN and SUB end every sequence, ESC begins one from everywhere but a string, where it may end it.
    if (code === 0x18 || code === 0x1a) return 'ground';
    if (this.#state === 'string') {
      if (code === 0x07 || code === 0x9c) return 'ground';
      return code === 0x1b ? 'string-escape' : 'string';
    }
    if (this.#state === 'string-escape' && code === 0x5c) return 'ground';
    if (code === 0x1b) return 'escape';
    if (code === 0x9b) return 'csi';
    if (code === 0x9d || code === 0x90 || code === 0x98 || code === 0x9e || code === 0x9f) return 'string';
    if (this.#state === 'csi') return code >= 0x40 && code <= 0x7e ? 'ground' : 'csi';
    if (this.#state === 'escape' || this.#state === 'string-escape') {
      if (code === 0x5b) return 'csi';
      if (code === 0x5d || code === 0x50 || code === 0x58 || code === 0x5e || code === 0x5f) return 'string';
      // Intermediate bytes go on, anything else is the last one.
      return code >= 0x20 && code <= 0x2f ? 'escape' : 'ground';
    }
    return 'ground';
  }
}

const CONTROL = /[\u001b\u0090\u0098\u009b\u009d-\u009f]/g;
