/** One run of a benchmark: how much it does, and what it has to end. */
export class Run implements AsyncDisposable {
  /** Of each side. */
  readonly repeats: number;
  /** Whether it only shows that the benchmark works: once, with few sessions. */
  readonly isQuick: boolean;
  readonly report: (line: string) => void;
  readonly #owned = new AsyncDisposableStack();

  constructor({ isQuick, report }: { isQuick: boolean; report: (line: string) => void }) {
    this.isQuick = isQuick;
    this.repeats = isQuick ? 1 : 9;
    this.report = report;
  }

  /** Ends what is being opened when the run ends, also when it ends before that is open. */
  own<T extends AsyncDisposable>(opening: Promise<T>): Promise<T> {
    this.#owned.defer(async () => {
      const opened = await opening.catch(() => undefined);
      await opened?.[Symbol.asyncDispose]();
    });
    return opening;
  }

  /** The run has ended, or is broken off: the last that was opened goes first. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}
