import type { Clock } from '../platform/clock.ts';
import { RETAINED, type TerminalClient } from './terminal-client.ts';

/** Unparsed bytes at which the program is stopped, and at which it goes on. */
const PARSE_HIGH = 4 * 1024 * 1024;
const PARSE_LOW = 1024 * 1024;

/** Time without an acknowledgement after which a client with a full window no longer holds the program up. */
const STALL_MS = 1_000;

/** What can be stopped in its output. */
export interface Paced {
  pause(): void;
  resume(): void;
}

/**
 * Slows a program down to
 * - its clients, when every one that keeps up has a full window (as in any terminal, output is paced by who shows it).
 *   One that acknowledges nothing for a second no longer counts; it gets a snapshot when it comes back;
 * - the parser, when it is 4 MiB behind;
 * - a client that attaches, for as long as the parser needs to catch up to its snapshot.
 */
export class Pace {
  readonly #program: Paced;
  readonly #clock: Clock;
  readonly #due: () => void;
  #parserPauses = false;
  #paused = false;
  #stallTimer: (() => void) | undefined;

  /** @param due {@link set} is to be called again, although nothing has happened */
  constructor(program: Paced, clock: Clock, due: () => void) {
    this.#program = program;
    this.#clock = clock;
    this.#due = due;
  }

  /** @param behind unparsed bytes */
  set(clients: Iterable<TerminalClient>, behind: number): void {
    if (behind > PARSE_HIGH) this.#parserPauses = true;
    else if (behind <= PARSE_LOW) this.#parserPauses = false;
    const pause = this.#parserPauses || this.#clientsPause(clients, behind);
    if (pause === this.#paused) return;
    this.#paused = pause;
    if (pause) this.#program.pause();
    else this.#program.resume();
  }

  dispose(): void {
    this.#stallTimer?.();
  }

  #clientsPause(clients: Iterable<TerminalClient>, behind: number): boolean {
    this.#stallTimer?.();
    this.#stallTimer = undefined;
    let full = 0;
    const now = this.#clock.monotonic();
    let oldest = now;
    for (const client of clients) {
      if (client.state === 'joining') {
        if (behind > RETAINED / 2) return true;
      } else if (client.state === 'live') {
        if (!client.full) return false;
        if (now - client.heardAt < STALL_MS) {
          full += 1;
          oldest = Math.min(oldest, client.heardAt);
        }
      }
    }
    if (full === 0) return false;
    this.#stallTimer = this.#clock.after(oldest + STALL_MS - now + 1, this.#due);
    return true;
  }
}
