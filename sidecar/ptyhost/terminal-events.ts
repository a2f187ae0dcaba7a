import type { Clock } from '../platform/clock.ts';
import type { Exit, HostEvent, StatusReport } from '../protocol/ptywire.ts';

/** Between two bells, and between output and what is told of it, in milliseconds. */
const BELL_MS = 250;
const ACTIVITY_MS = 500;

export interface TerminalEventsOptions {
  id: string;
  clock: Clock;
  startedAt: number;
  /** Position behind the last byte of output. */
  position(): number;
  emit(event: HostEvent): void;
}

/** What is told about a terminal: bells and output no more often than somebody could notice. */
export class TerminalEvents {
  readonly #options: TerminalEventsOptions;
  #lastOutputAt: number;
  #bellAt = Number.NEGATIVE_INFINITY;
  #activityTimer: (() => void) | undefined;

  constructor(options: TerminalEventsOptions) {
    this.#options = options;
    this.#lastOutputAt = options.startedAt;
  }

  /** When it was started, where there was none. */
  get lastOutputAt(): number {
    return this.#lastOutputAt;
  }

  title(title: string): void {
    const { id, emit } = this.#options;
    emit({ event: 'title', id, title });
  }

  status(status: StatusReport): void {
    const { id, emit } = this.#options;
    emit({ event: 'status', id, status });
  }

  bell(): void {
    const { id, clock, emit } = this.#options;
    const now = clock.monotonic();
    if (now - this.#bellAt < BELL_MS) return;
    this.#bellAt = now;
    emit({ event: 'bell', id });
  }

  /** There was output. */
  activity(): void {
    const { clock } = this.#options;
    this.#lastOutputAt = clock.now();
    this.#activityTimer ??= clock.after(ACTIVITY_MS, () => {
      this.#activityTimer = undefined;
      this.#tellActivity();
    });
  }

  /** Tells now what would be told in a moment. */
  flush(): void {
    if (this.#activityTimer === undefined) return;
    this.#activityTimer();
    this.#activityTimer = undefined;
    this.#tellActivity();
  }

  exit(exit: Exit, at: number): void {
    const { id, emit } = this.#options;
    emit({ event: 'exit', id, exit, at });
  }

  dispose(): void {
    this.#activityTimer?.();
  }

  #tellActivity(): void {
    const { id, position, emit } = this.#options;
    emit({ event: 'activity', id, at: this.#lastOutputAt, position: position() });
  }
}
