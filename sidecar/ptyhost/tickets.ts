import type { Clock } from '../platform/clock.ts';
import type { Ids } from '../platform/ids.ts';

const MAX_OPEN = 1_000;

/** Tickets that open one byte connection to one terminal, once, for a while. */
export class Tickets {
  readonly #clock: Clock;
  readonly #ids: Ids;
  #open = new Map<string, { terminal: string; expires: number }>();

  constructor(clock: Clock, ids: Ids) {
    this.#clock = clock;
    this.#ids = ids;
  }

  issue(terminal: string, ttlMs: number): { ticket: string; expiresAt: number } {
    this.#dropExpired();
    while (this.#open.size >= MAX_OPEN) {
      const [oldest] = this.#open.keys();
      if (oldest !== undefined) this.#open.delete(oldest);
    }
    const ticket = this.#ids.secret();
    this.#open.set(ticket, { terminal, expires: this.#clock.monotonic() + ttlMs });
    return { ticket, expiresAt: this.#clock.now() + ttlMs };
  }

  /** The terminal that `ticket` opens, or undefined. A ticket is spent by this. */
  redeem(ticket: string): string | undefined {
    this.#dropExpired();
    const terminal = this.#open.get(ticket)?.terminal;
    this.#open.delete(ticket);
    return terminal;
  }

  #dropExpired(): void {
    const now = this.#clock.monotonic();
    for (const [ticket, { expires }] of this.#open) if (expires <= now) this.#open.delete(ticket);
  }
}
