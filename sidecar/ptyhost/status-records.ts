import type { StatusReport } from '../protocol/ptywire.ts';

const MAX_RECORDS = 64;

/** What a program last said about itself, and about each of those it names; the oldest of these are forgotten. */
export class StatusRecords {
  readonly #records = new Map<string, StatusReport>();

  add(report: StatusReport): void {
    const id = report.id ?? '';
    // Again at the end, so that the oldest is the first.
    this.#records.delete(id);
    if (id === '' || report.state !== 'clear') this.#records.set(id, report);
    if (this.#records.size <= MAX_RECORDS) return;
    for (const oldest of this.#records.keys()) {
      if (oldest === '') continue;
      this.#records.delete(oldest);
      return;
    }
  }

  /** The program's own first. */
  list(): StatusReport[] {
    const own = this.#records.get('');
    const children = [...this.#records].filter(([id]) => id !== '').map(([, report]) => report);
    return own === undefined ? children : [own, ...children];
  }
}
