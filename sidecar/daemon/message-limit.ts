/** Largest message that a client may send, in bytes: a prompt of 1 MiB, escaped, fits several times. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** Most bytes of a header. Source: the base protocol of LSP has two fields. */
const MAX_HEADER_BYTES = 4_096;

const END = '\r\n\r\n';

/**
 * Follows the frames of a connection (`Content-Length: N`, empty line, N bytes) without keeping them: the reader behind
 * it would collect whatever a client announces, or never ends.
 */
export class MessageLimit {
  #header = '';
  /** Bytes of the body that are still to come. */
  #body = 0;
  /** How many messages began. */
  messages = 0;

  /** Takes what was received; says what is wrong with it, once, or undefined. */
  push(chunk: Buffer): string | undefined {
    let at = 0;
    while (at < chunk.length) {
      if (this.#body > 0) {
        const taken = Math.min(this.#body, chunk.length - at);
        this.#body -= taken;
        at += taken;
        continue;
      }
      const before = this.#header.length;
      this.#header += chunk.toString('latin1', at, at + MAX_HEADER_BYTES);
      const end = this.#header.indexOf(END);
      if (end < 0) {
        if (this.#header.length >= MAX_HEADER_BYTES) return 'its header does not end';
        return undefined;
      }
      const length = /^content-length: *(\d{1,15})\r?$/im.exec(this.#header.slice(0, end))?.[1];
      if (length === undefined) return 'its header has no length';
      if (Number(length) > MAX_MESSAGE_BYTES) return `its message of ${length} bytes is too large`;
      at += end + END.length - before;
      this.#header = '';
      this.#body = Number(length);
      this.messages += 1;
    }
    return undefined;
  }
}
