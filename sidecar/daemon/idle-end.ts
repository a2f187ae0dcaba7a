import type { Clock } from '../platform/clock.ts';

/** Ends a process that has had nothing to do for a while. */
export class IdleEnd {
  readonly #clock: Clock;
  readonly #afterMs: number;
  readonly #isBusy: () => boolean;
  readonly #end: () => void;
  #cancel: (() => void) | undefined;

  /** `isBusy` is asked at each {@link look} and again when the time is over. */
  constructor(clock: Clock, afterMs: number, isBusy: () => boolean, end: () => void) {
    this.#clock = clock;
    this.#afterMs = afterMs;
    this.#isBusy = isBusy;
    this.#end = end;
  }

  /** Called whenever something may have begun or ended. */
  look(): void {
    if (this.#isBusy()) {
      this.#cancel?.();
      this.#cancel = undefined;
    } else if (this.#cancel === undefined) {
      this.#cancel = this.#clock.after(this.#afterMs, () => {
        this.#cancel = undefined;
        if (this.#isBusy()) this.look();
        else this.#end();
      });
    }
  }
}
