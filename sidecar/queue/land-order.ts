import type { QueueEntry } from '../protocol/entry.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord } from './entry-table.ts';
import { baseKey, entryView } from './entry-view.ts';

/** Entries that have ended and are shown. */
const ENDED_SHOWN = 100;

/** The land order as clients see it, read from the store. */
export class LandOrder {
  readonly #context: QueueContext;

  constructor(context: QueueContext) {
    this.#context = context;
  }

  entry(id: string): QueueEntry {
    const { entries } = this.#context;
    return this.#view(entries.get(id), entries.open());
  }

  /** In land order; with `ended` the last hundred that have ended behind them. */
  list(filter: { base?: string | undefined; ended: boolean }): QueueEntry[] {
    const { entries } = this.#context;
    const open = entries.open();
    const records = [...open, ...(filter.ended ? entries.ended(ENDED_SHOWN) : [])];
    return records
      .filter((entry) => filter.base === undefined || entry.base === filter.base)
      .map((entry) => this.#view(entry, open));
  }

  #view(entry: EntryRecord, open: readonly EntryRecord[]): QueueEntry {
    const { sessions, handBacks } = this.#context;
    const key = baseKey(entry);
    const at = open.filter((each) => baseKey(each) === key).findIndex((each) => each.id === entry.id);
    const { main } = sessions.repository(entry.repository);
    const handBack = entry.state === 'handed-back' ? handBacks.open(entry.id) : undefined;
    return entryView(entry, sessions.get(entry.session).title, main, at < 0 ? null : at + 1, handBack);
  }
}
