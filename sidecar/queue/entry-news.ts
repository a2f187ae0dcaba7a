import { hasEnded } from '../protocol/landing.ts';
import type { QueueContext } from './context.ts';
import type { LandOrder } from './land-order.ts';

/** Tells clients how entries are, and the history what is worth a line in it. */
export class EntryNews {
  readonly #context: QueueContext;
  readonly #order: LandOrder;
  /** What was last told of an entry. */
  readonly #told = new Map<string, string>();

  constructor(context: QueueContext, order: LandOrder) {
    this.#context = context;
    this.#order = order;
  }

  /** An event is what is worth a line in the history, not that something was tried again in vain. */
  announce(id: string): void {
    const view = this.#order.entry(id);
    const { state, reason, message } = view;
    const isUnderway = ['securing', 'merging', 'checking', 'swapping'].includes(state);
    const before = this.#told.get(id) ?? '';
    const line = JSON.stringify([state, reason, message]);
    if (line !== before && !(isUnderway && before.startsWith('["waiting"'))) {
      this.#told.set(id, line);
      const { session } = view;
      const text = message ?? state;
      this.#context.events.add({ kind: 'entry-changed', session, state: null, entry: state, message: text });
    }
    if (hasEnded(state)) this.#told.delete(id);
    this.#context.changed(view);
  }
}
