import type { StatusReport } from '../protocol/ptywire.ts';

const MAX_RECORDS = 64;

/** What a program last said about itself, and about each of those it names; the oldest of these are forgotten. */
export class StatusRecords {
  readonly #records = new Map<string, StatusReport>();

  /** Gives the report as it is kept. */
  add(told: StatusReport): StatusReport {
    const id = told.id ?? '';
    const before = this.#records.get(id);
    const freeAt = before === undefined || before.state === 'blocked' ? before?.freeAt : before.at;
    const report = told.state === 'blocked' && freeAt !== undefined ? { ...told, freeAt } : told;
    // Again at the end, so that the oldest is the first.
    this.#records.delete(id);
    if (id === '' || report.state !== 'clear') this.#records.set(id, report);
    if (this.#records.size > MAX_RECORDS) {
      const oldest = [...this.#records.keys()].find((each) => each !== '');
      if (oldest !== undefined) this.#records.delete(oldest);
    }
    return report;
  }

  /** The program's own first. */
  list(): StatusReport[] {
    const own = this.#records.get('');
    const children = [...this.#records].filter(([id]) => id !== '').map(([, report]) => report);
    return own === undefined ? children : [own, ...children];
  }
}
