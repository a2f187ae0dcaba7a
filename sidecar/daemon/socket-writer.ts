import type { Socket } from 'node:net';
import { AbstractMessageWriter, Message, type MessageWriter } from 'vscode-jsonrpc/node';

/**
 * Writes messages to a socket at once. The library's own writer waits for one to be on its way before it takes up the
 * next, and keeps those that wait where nobody can see how many they are; here `socket.writableLength` tells.
 */
export class SocketWriter extends AbstractMessageWriter implements MessageWriter {
  readonly #socket: Socket;
  /** Bytes of each answer that is not yet on its way. */
  readonly #answers = new Set<{ bytes: number }>();

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.on('error', (error) => this.fireError(error));
    socket.on('close', () => this.fireClose());
  }

  write(message: Message): Promise<void> {
    const body = JSON.stringify(message);
    if (this.#socket.writable) {
      const bytes = Buffer.byteLength(body);
      const answer = { bytes };
      if (Message.isResponse(message)) this.#answers.add(answer);
      this.#socket.write(`Content-Length: ${bytes}\r\n\r\n${body}`, () => this.#answers.delete(answer));
    }
    return Promise.resolve();
  }

  /**
   * Bytes that the client is behind: what waits for it to read, without the largest answer. That one it asked for, and
   * may take its time to read.
   */
  get behind(): number {
    const largest = Math.max(0, ...[...this.#answers].map(({ bytes }) => bytes));
    return Math.max(0, this.#socket.writableLength - largest);
  }

  end(): void {}
}
