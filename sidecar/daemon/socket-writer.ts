import type { Socket } from 'node:net';
import { AbstractMessageWriter, type Message, type MessageWriter } from 'vscode-jsonrpc/node';

/**
 * Writes messages to a socket at once. The library's own writer waits for one to be on its way before it takes up the
 * next, and keeps those that wait where nobody can see how many they are; here `socket.writableLength` tells.
 */
export class SocketWriter extends AbstractMessageWriter implements MessageWriter {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.on('error', (error) => this.fireError(error));
    socket.on('close', () => this.fireClose());
  }

  write(message: Message): Promise<void> {
    const body = JSON.stringify(message);
    if (this.#socket.writable) {
      this.#socket.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    }
    return Promise.resolve();
  }

  end(): void {}
}
