import { type Clock, systemClock } from '../../sidecar/platform/clock.ts';

/** The real time, until a test sets it: forward or back, as a machine that sleeps or a person who corrects it. */
export class TestClock implements Clock {
  #ahead = 0;
  #due = 0;
  readonly #timers = new Map<() => void, { at: number; stop: () => void }>();

  now(): number {
    return systemClock.now() + this.#ahead;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#due;
  }

  after(ms: number, run: () => void): () => void {
    const fire = () => {
      this.#timers.delete(fire);
      run();
    };
    const timer = { at: this.monotonic() + ms, stop: systemClock.after(ms, fire) };
    this.#timers.set(fire, timer);
    return () => {
      timer.stop();
      this.#timers.delete(fire);
    };
  }

  /** Lets `ms` go by at once: both clocks go on, and what was due by then happens. */
  pass(ms: number): void {
    this.#ahead += ms;
    this.#due += ms;
    const now = this.monotonic();
    for (const [fire, { at, stop }] of [...this.#timers].sort(([, one], [, other]) => one.at - other.at)) {
      if (at > now || !this.#timers.has(fire)) continue;
      stop();
      fire();
    }
  }

  /** Sets the clock on the wall by `ms`, forward or back; no time goes by. */
  jump(ms: number): void {
    this.#ahead += ms;
  }
}
