import type { Clock } from '../platform/clock.ts';
import type { Store } from '../platform/store.ts';
import { EntryState } from '../protocol/entry.ts';
import { FleetEvent } from '../protocol/protocol.ts';
import { DisplayState } from '../protocol/session.ts';
import * as z from '../protocol/zod.ts';

const KEPT = 10_000;

/** Another version may have written words that this one does not know. */
const KnownState = z.catch(z.nullable(DisplayState), null);
const KnownEntryState = z.catch(z.nullable(EntryState), null);

/** What happened, in order: kept in the store, and told to whoever listens. */
export class FleetEvents {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #listeners = new Set<(event: FleetEvent) => void>();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  add(event: Omit<FleetEvent, 'seq' | 'at'>): void {
    const at = this.#clock.now();
    const seq = this.#store.insert(
      'INSERT INTO event (at, kind, session, state, entry, message) VALUES (:at, :kind, :session, :state, :entry, :message)',
      { at, ...event },
    );
    if (seq % 1_000 === 0) this.#store.run('DELETE FROM event WHERE seq <= :limit', { limit: seq - KEPT });
    this.#store.afterCommit(() => {
      for (const listener of this.#listeners) listener({ seq, at, ...event });
    });
  }

  /** Kept events with a higher number than `seq`, oldest first. */
  after(seq: number): FleetEvent[] {
    return this.#store.all('SELECT * FROM event WHERE seq > :seq ORDER BY seq', { seq }).map((row) =>
      FleetEvent.parse({
        ...row,
        state: KnownState.parse(row.state),
        entry: KnownEntryState.parse(row.entry),
      }),
    );
  }

  /** Returns a function that ends the listening. */
  listen(listener: (event: FleetEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
