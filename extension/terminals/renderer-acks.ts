import { GroundState } from './ground-state.ts';

/**
 * Characters between two questions to the renderer. A window of the ptyhost's stream has to be at least four times
 * as large, or what is not yet asked about would fill it.
 */
export const ACK_STEP = 64 * 1024;

/** Asks a terminal for its status (DSR); xterm.js answers when it has parsed up to there. */
const QUESTION = '\u001b[5n';
const ANSWER = '\u001b[0n';

/**
 * Learns from the renderer how far it is. Writing to a `Pseudoterminal` only fills a queue; a status question behind
 * the output is answered once everything before it was parsed, also in a terminal that is hidden.
 */
export class RendererAcks {
  readonly #ground = new GroundState();
  readonly #acknowledge: (position: number) => void;
  /** Positions that were asked about, oldest first. */
  #asked: number[] = [];
  #since = 0;
  /** Answers that are still to come to questions of a stream that is no more. */
  #stale: number;

  /** `before` asked the same renderer, about a stream that has ended. */
  constructor(acknowledge: (position: number) => void, before?: RendererAcks) {
    this.#acknowledge = acknowledge;
    this.#stale = before?.outstanding ?? 0;
  }

  /** Questions that the renderer has not answered. */
  get outstanding(): number {
    return this.#stale + this.#asked.length;
  }

  /** `text`, which ends at `position` of the stream, with a question behind it when one is due. */
  output(text: string, position: number): string {
    this.#ground.push(text);
    this.#since += text.length;
    // In the midst of a sequence the question would become a part of it.
    if (this.#since < ACK_STEP || !this.#ground.isGround) return text;
    return text + this.#ask(position);
  }

  /** A screen that replaces everything, and is painted up to `position`. */
  snapshot(text: string, position: number): string {
    this.#ground.push(text);
    return text + this.#ask(position);
  }

  /** What the person typed, without the renderer's answers. A program's own questions keep theirs. */
  input(keys: string): string {
    let rest = keys;
    while (this.outstanding > 0) {
      const at = rest.indexOf(ANSWER);
      if (at < 0) break;
      rest = rest.slice(0, at) + rest.slice(at + ANSWER.length);
      if (this.#stale > 0) {
        this.#stale -= 1;
        continue;
      }
      const position = this.#asked.shift();
      if (position !== undefined) this.#acknowledge(position);
    }
    return rest;
  }

  #ask(position: number): string {
    this.#since = 0;
    this.#asked.push(position);
    return QUESTION;
  }
}
