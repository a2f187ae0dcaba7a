import type { Clock } from './clock.ts';

/** A limit of time: `signal` aborts when it is over. To be ended by whoever asked for it. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Variables that tell whose limit it is, for the program that is given the time. */
  readonly env: Readonly<Record<string, string>>;
  end(): void;
}

/** For so long a limit stands still at most, in milliseconds: whoever asks again and again has no more time than this. */
const STANDS_AT_MOST_MS = 600_000;

/** A limit of time that stands still while a person is asked for it: nobody types a password within seconds. */
export class Patience {
  readonly #clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly #over = new AbortController();
  #left: number;
  /** How long it may stand still yet, in milliseconds. */
  #mayStand = STANDS_AT_MOST_MS;
  #asking = 0;
  /** When it last began to run or to stand. */
  #since = 0;
  #cancel: (() => void) | undefined;
  #ended = false;

  /** Is over after `ms` milliseconds in which nobody was asked. */
  constructor(clock: Pick<Clock, 'monotonic' | 'after'>, ms: number) {
    this.#clock = clock;
    this.#left = ms;
    this.#run();
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  end(): void {
    this.#ended = true;
    this.#cancel?.();
  }

  /** Runs `ask`, in which a person is waited for. */
  async whileAsking<T>(ask: () => Promise<T>): Promise<T> {
    this.#asking += 1;
    if (this.#asking === 1) this.#stand();
    try {
      return await ask();
    } finally {
      this.#asking -= 1;
      if (this.#asking === 0) this.#goOn();
    }
  }

  #run(): void {
    if (this.#ended) return;
    this.#since = this.#clock.monotonic();
    this.#cancel = this.#clock.after(Math.max(0, this.#left), () => this.#over.abort());
  }

  #stand(): void {
    this.#cancel?.();
    const now = this.#clock.monotonic();
    this.#left -= now - this.#since;
    this.#since = now;
    if (this.#ended) return;
    this.#cancel = this.#clock.after(Math.max(0, this.#left) + this.#mayStand, () => this.#over.abort());
  }

  #goOn(): void {
    this.#cancel?.();
    const stood = this.#clock.monotonic() - this.#since;
    this.#left -= Math.max(0, stood - this.#mayStand);
    this.#mayStand = Math.max(0, this.#mayStand - stood);
    this.#run();
  }
}
