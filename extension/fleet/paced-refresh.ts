/**
 * Within so many milliseconds after rows were told to be drawn anew, VS Code only notes that others are, and starts to
 * count again: where something changes all the time, nothing is drawn. It waits 200.
 * Source: `Event.debounce` in src/vs/workbench/api/common/extHostTreeViews.ts, read in VS Code 1.139.
 */
const SILENCE_MS = 220;
/** What need not be seen at once is drawn with what has to be, or after so many milliseconds. */
const PATIENCE_MS = 1_000;

/**
 * Decides when rows of a tree are drawn anew: what matters at once, unless something was drawn a moment ago, and the
 * whole tree after the row for whose sake it is. Never so often that VS Code would put it off.
 */
export class PacedRefresh<Row> {
  readonly #draw: (rows: Row[] | undefined) => void;
  readonly #now: () => number;
  readonly #rows = new Set<Row>();
  /** The whole tree is due; `next` when it has let rows go first. */
  #all: 'no' | 'due' | 'next' = 'no';
  #drawnAt = Number.NEGATIVE_INFINITY;
  #timer: { cancel: () => void; at: number } | undefined;

  /** `draw` is given the rows, or undefined for the whole tree. */
  constructor(draw: (rows: Row[] | undefined) => void, now: () => number = () => performance.now()) {
    this.#draw = draw;
    this.#now = now;
  }

  /** The row tells something else than before. */
  row(row: Row, { isUrgent }: { isUrgent: boolean }): void {
    this.#rows.add(row);
    this.#schedule(isUrgent ? 0 : PATIENCE_MS);
  }

  /** Rows came, went, or stand elsewhere. */
  all(): void {
    if (this.#all === 'no') this.#all = 'due';
    this.#schedule(0);
  }

  dispose(): void {
    this.#timer?.cancel();
    this.#rows.clear();
    this.#all = 'no';
  }

  #schedule(withinMs: number): void {
    const now = this.#now();
    const at = Math.max(now + withinMs, this.#drawnAt + SILENCE_MS);
    if (this.#timer !== undefined && this.#timer.at <= at) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (at <= now) {
      this.#flush();
      return;
    }
    const timer = setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, at - now);
    this.#timer = { at, cancel: () => clearTimeout(timer) };
  }

  #flush(): void {
    this.#drawnAt = this.#now();
    if (this.#all === 'next' || (this.#all === 'due' && this.#rows.size === 0)) {
      this.#all = 'no';
      this.#rows.clear();
      this.#draw(undefined);
      return;
    }
    const rows = [...this.#rows];
    this.#rows.clear();
    this.#draw(rows);
    if (this.#all === 'no') return;
    this.#all = 'next';
    this.#schedule(0);
  }
}
