import type { Clock } from './clock.ts';

/** A limit of time: `signal` aborts when it is over. To be ended by whoever asked for it. */
export interface Deadline {
  readonly signal: AbortSignal;
  end(): void;
}

/** Limits of time that stand still while a person is asked: nobody types a password within seconds. */
export class Patience {
  readonly #clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly #limits = new Set<{ run(): void; stand(): void }>();
  #asking = 0;

  constructor(clock: Pick<Clock, 'monotonic' | 'after'>) {
    this.#clock = clock;
  }

  /** Is over after `ms` milliseconds in which nobody was asked. */
  deadline(ms: number): Deadline {
    const over = new AbortController();
    let left = ms;
    let cancel: (() => void) | undefined;
    let since = 0;
    const limit = {
      run: () => {
        since = this.#clock.monotonic();
        cancel = this.#clock.after(Math.max(0, left), () => over.abort());
      },
      stand: () => {
        cancel?.();
        cancel = undefined;
        left -= this.#clock.monotonic() - since;
      },
    };
    this.#limits.add(limit);
    if (this.#asking === 0) limit.run();
    return {
      signal: over.signal,
      end: () => {
        cancel?.();
        this.#limits.delete(limit);
      },
    };
  }

  /** Runs `ask`, in which a person is waited for. */
  async whileAsking<T>(ask: () => Promise<T>): Promise<T> {
    this.#asking += 1;
    if (this.#asking === 1) for (const limit of this.#limits) limit.stand();
    try {
      return await ask();
    } finally {
      this.#asking -= 1;
      if (this.#asking === 0) for (const limit of this.#limits) limit.run();
    }
  }
}
