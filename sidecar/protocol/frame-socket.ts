import type { Socket } from 'node:net';
import { asFairleadError, type FairleadError } from './errors.ts';
import { type Frame, FrameDecoder, FrameType, faultOfError, jsonFrame } from './ptywire.ts';

/**
 * One connection as frames, for either side. What the other side does throws nothing past it: a frame that cannot be
 * taken is answered with a fault and ends the connection.
 */
export class FrameSocket {
  readonly #socket: Socket;
  readonly #decoder = new FrameDecoder();
  #onFrame: (frame: Frame) => void = () => {};
  #onClose: (reason: FairleadError | undefined) => void = () => {};
  #closed = false;
  /** Why this side ended it. */
  #reason: FairleadError | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.#closed = true;
      this.#onClose(this.#reason);
    });
  }

  /** Replaces who gets the frames, and who learns of the end: with the reason when a frame could not be taken. */
  listen(onFrame: (frame: Frame) => void, onClose: (reason: FairleadError | undefined) => void): void {
    this.#onFrame = onFrame;
    this.#onClose = onClose;
  }

  /** Bytes that wait for the other side to read them. */
  get unsent(): number {
    return this.#socket.writableLength;
  }

  sendJson(type: number, value: unknown): void {
    this.send(jsonFrame(type, value));
  }

  send(...parts: Buffer[]): void {
    if (this.#closed || !this.#socket.writable) return;
    if (parts.length > 1) this.#socket.cork();
    for (const part of parts) this.#socket.write(part);
    if (parts.length > 1) this.#socket.uncork();
  }

  /** Says what is wrong. The connection goes on unless `end` is called. */
  fault(error: unknown, about?: string): void {
    this.sendJson(FrameType.fault, faultOfError(asFairleadError(error), about));
  }

  /** Ends after everything that was sent has been delivered. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#decoder.push(chunk)) {
        if (this.#closed) return;
        this.#onFrame(frame);
      }
    } catch (error) {
      this.#reason = asFairleadError(error);
      this.fault(this.#reason);
      this.#socket.destroySoon();
    }
  }
}
