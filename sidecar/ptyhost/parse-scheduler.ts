export interface ParseTask {
  /** Parses one slice, well under a millisecond's worth. False when nothing is left to parse. */
  parseSlice(): boolean;
}

/**
 * Parsing happens behind everything else: one slice, of one terminal after the other, each time the event loop has
 * dealt with input, output and clients.
 */
export class ParseScheduler {
  #waiting = new Set<ParseTask>();
  #scheduled: NodeJS.Immediate | undefined;

  add(task: ParseTask): void {
    this.#waiting.add(task);
    this.#scheduled ??= setImmediate(() => this.#run());
  }

  remove(task: ParseTask): void {
    this.#waiting.delete(task);
  }

  #run(): void {
    this.#scheduled = undefined;
    const [task] = this.#waiting;
    if (task === undefined) return;
    this.#waiting.delete(task);
    if (task.parseSlice()) this.#waiting.add(task);
    if (this.#waiting.size > 0) this.#scheduled ??= setImmediate(() => this.#run());
  }
}
