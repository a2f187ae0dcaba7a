import type { Merger } from '../git/merging.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { SessionRecord } from '../sessions/record.ts';
import { attemptLanding } from './attempt.ts';
import type { QueueContext } from './context.ts';
import { waitForOthers } from './dependencies.ts';
import type { EntryRecord } from './entry-table.ts';
import { offerHandBack } from './hand-back-offer.ts';
import { LandingCommits } from './landing-commits.ts';
import type { MergedCheck } from './merged-check.ts';
import type { Outcome } from './outcome.ts';
import { secureWork } from './securing.ts';
import { resolveIntent } from './swapping.ts';
import { troubleOf } from './trouble.ts';

export interface LandingTools {
  check: MergedCheck;
  mergerOf(session: SessionRecord): Promise<Merger>;
  /** Tells clients how an entry is. */
  announce(entry: string): void;
}

/** Takes an entry from whatever state it was left in to an outcome, showing how far it has come. */
export class EntryLanding {
  readonly #context: QueueContext;
  readonly #tools: LandingTools;
  readonly #commits = new LandingCommits();

  constructor(context: QueueContext, tools: LandingTools) {
    this.#context = context;
    this.#tools = tools;
  }

  /**
   * One attempt. Never rejects.
   * @returns undefined when it was cancelled, and what was begun may have happened: it is looked at anew, as after a crash
   */
  async run(entry: EntryRecord, signal: AbortSignal): Promise<Outcome | undefined> {
    try {
      return await this.#advance(entry, signal);
    } catch (error) {
      if (isCancelled(error, signal)) {
        return this.#context.entries.intent(entry.id) === undefined ? { kind: 'cancelled' } : undefined;
      }
      this.#context.log.error('attempt failed', { entry: entry.id, error: messageOf(error) });
      return troubleOf(error);
    }
  }

  async #advance(entry: EntryRecord, signal: AbortSignal): Promise<Outcome> {
    const { entries, sessions } = this.#context;
    const session = sessions.get(entry.session);
    const merger = await this.#tools.mergerOf(session);
    const intent = entries.intent(entry.id);
    if (intent !== undefined) return resolveIntent(this.#context, merger.repository, entry, intent, signal);
    if (entry.cancel) return { kind: 'cancelled' };
    const others = waitForOthers(this.#context, entry);
    if (others !== undefined) return others;
    let { head } = entry;
    if (head === null) {
      this.#enter(entry.id, 'securing');
      const secured = await secureWork(this.#context, merger.repository, session);
      if (secured.kind !== 'secured') return secured;
      head = secured.head;
    }
    entries.update(entry.id, { head });
    this.#enter(entry.id, 'merging');
    // What the person is needed for stays up until it is known that they are not.
    sessions.setLanding(session.id, 'landing', entry.state === 'waiting' ? session.demand : null);
    const outcome = await attemptLanding(this.#context, {
      entry: { ...entries.get(entry.id), head },
      session,
      merger,
      commits: this.#commits,
      check: this.#tools.check,
      signal,
      enter: (state) => this.#enter(entry.id, state),
    });
    if (outcome.kind !== 'conflict') return outcome;
    return offerHandBack(this.#context, entries.get(entry.id), sessions.get(session.id), outcome);
  }

  #enter(id: string, state: 'securing' | 'merging' | 'checking' | 'swapping'): void {
    this.#context.entries.update(id, {
      state,
      reason: null,
      message: null,
      paths: [],
      retry_at: null,
      changed_at: this.#context.clock.now(),
    });
    this.#tools.announce(id);
  }
}

function isCancelled(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && error instanceof FairleadError && error.code === 'cancelled';
}
