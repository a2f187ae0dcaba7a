import type { Merger } from '../git/merging.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { SessionRecord } from '../sessions/record.ts';
import { Serial } from '../sessions/serial.ts';
import type { QueueContext } from './context.ts';
import { HandBackDelivery } from './hand-back-delivery.ts';
import type { Due, Look } from './hand-back-look.ts';
import { HandBackMoves } from './hand-back-moves.ts';
import { HandBackPreparation } from './hand-back-preparation.ts';
import { HandBackReview } from './hand-back-review.ts';
import { type HandBackListener, HandBackStatus } from './hand-back-status.ts';
import { conflictWords } from './hand-back-words.ts';
import { fails } from './outcome.ts';
import { withHint } from './trouble.ts';

/** How often it is looked at what no signal tells: a person who resolves by hand, a file that was in the way. */
const POLL_MS = 5_000;

export interface HandBackTools extends HandBackListener {
  mergerOf(session: SessionRecord): Promise<Merger>;
}

/**
 * Brings conflicts back to the agents that wrote the work: which of them is looked at, and when. Level-triggered: each
 * look reads store and git and does what is due, so that any process may end between any two effects.
 */
export class HandBacks {
  readonly #context: QueueContext;
  readonly #mergerOf: HandBackTools['mergerOf'];
  readonly #status: HandBackStatus;
  readonly #moves: HandBackMoves;
  readonly #delivery: HandBackDelivery;
  readonly #preparation: HandBackPreparation;
  readonly #review: HandBackReview;
  readonly #serial = new Serial();
  /** What was looked at last, and when on the monotonic clock: without a change it is looked at again at leisure. */
  readonly #seen = new Map<string, { state: string; at: number }>();
  readonly #abort = new AbortController();
  #looking: Promise<void> | undefined;
  #again = false;
  #cancelTimer: (() => void) | undefined;

  constructor(context: QueueContext, tools: HandBackTools) {
    this.#context = context;
    this.#mergerOf = tools.mergerOf;
    const status = new HandBackStatus(context, tools);
    const moves = new HandBackMoves(context, status);
    const delivery = new HandBackDelivery(context, this.#abort.signal, () => this.look());
    this.#status = status;
    this.#moves = moves;
    this.#delivery = delivery;
    this.#preparation = new HandBackPreparation(context, status, moves);
    this.#review = new HandBackReview(context, { status, moves, delivery });
  }

  get #isStopped(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Looks at everything that is handed back; cheap when nothing has changed. Never throws. */
  look(): void {
    if (this.#isStopped) return;
    this.#again = true;
    this.#looking ??= this.#lookWhileDue().finally(() => {
      this.#looking = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#abort.abort(new FairleadError('daemon.lost', 'The sidecar is ending.'));
    this.#cancelTimer?.();
    await this.#looking;
    await this.#delivery.ended();
  }

  /**
   * The person takes an entry out: a merge that the agent does not know of is taken back, any other is left to whoever
   * works on it. Resolves when that is settled.
   */
  async finish(id: string): Promise<void> {
    await this.#serial.run(id, () => this.#lookAt(id));
  }

  /**
   * The person lands again what is handed back and waits for them: a resolution that drops changes is taken as it is, the
   * agent is asked anew about an open merge, anything else is tried from the start.
   * @returns false when it waits for the agent, not for the person
   */
  async landAgain(id: string): Promise<boolean> {
    const isPersons = await this.#serial.run(id, async () => this.#landAgainNow(id));
    if (isPersons) {
      this.#seen.delete(id);
      this.look();
    }
    return isPersons;
  }

  #landAgainNow(id: string): boolean {
    const { entries, handBacks, sessions, clock } = this.#context;
    const row = handBacks.open(id);
    const entry = entries.get(id);
    if (row === undefined || entry.cancel) return false;
    if (row.phase === 'needs-you' && row.result !== null) {
      handBacks.update(row, { accepted: row.result });
      return true;
    }
    if (row.phase === 'needs-you') {
      const missing = row.missing ?? 'Nobody has finished it.';
      entries.transaction(() => {
        const turns = sessions.turnCount(entry.session);
        handBacks.add({ ...row, try: 1, phase: 'asked', missing, turns }, clock.now());
        // It is the person's no more, though its prompt takes a while.
        sessions.setLanding(entry.session, 'resolving', null);
      });
      return true;
    }
    if (row.phase !== 'preparing' || row.begun) return false;
    this.#status.settle(entry, row, { kind: 'resolved', message: 'It is tried again.' }, { unasked: true });
    return true;
  }

  async #lookWhileDue(): Promise<void> {
    this.#cancelTimer?.();
    while (this.#again && !this.#isStopped) {
      this.#again = false;
      const handedBack = this.#handedBack();
      for (const id of this.#seen.keys()) if (!handedBack.includes(id)) this.#seen.delete(id);
      this.#review.keepOnly(handedBack);
      for (const id of handedBack) await this.#lookIfDue(id);
    }
    if (this.#handedBack().length > 0 && !this.#isStopped) {
      this.#cancelTimer = this.#context.clock.after(POLL_MS, () => this.look());
    }
  }

  #handedBack(): string[] {
    return this.#context.entries
      .open()
      .filter(({ state }) => state === 'handed-back')
      .map(({ id }) => id);
  }

  async #lookIfDue(id: string): Promise<void> {
    const { clock, log } = this.#context;
    const seen = this.#seen.get(id);
    const now = clock.monotonic();
    if (seen?.state === this.#stateOf(id) && now - seen.at < POLL_MS - 500) return;
    try {
      await this.#serial.run(id, () => this.#lookAt(id));
      this.#seen.set(id, { state: this.#stateOf(id), at: now });
    } catch (error) {
      if (this.#isStopped) return;
      log.warn('hand-back not looked at', { entry: id, error: messageOf(error) });
      const entry = this.#context.entries.get(id);
      const row = this.#context.handBacks.open(id);
      if (row === undefined || entry.state !== 'handed-back') return;
      // Nothing that the author could mend, and no try: it is looked at again.
      this.#status.say(entry, { message: `${conflictWords(entry, row.paths)}; ${withHint(error)}` });
      this.#seen.set(id, { state: this.#stateOf(id), at: now });
    }
  }

  /** Everything but git that a look depends on. */
  #stateOf(id: string): string {
    const { entries, handBacks, sessions } = this.#context;
    const { session, cancel } = entries.get(id);
    const { life, demand } = sessions.get(session);
    const row = handBacks.open(id);
    const prompt = row && sessions.promptState(row.request);
    const agent = [sessions.isInTurn(session), sessions.turnCount(session), sessions.lastTurn(session)];
    return JSON.stringify([cancel, life, demand, row, prompt, agent]);
  }

  async #lookAt(id: string): Promise<void> {
    const { entries, handBacks, sessions } = this.#context;
    const entry = entries.get(id);
    const row = handBacks.open(id);
    if (entry.state !== 'handed-back' || entry.ended_at !== null) return;
    const session = sessions.get(entry.session);
    if (row === undefined)
      return this.#status.settle(entry, row, { kind: 'resolved', message: 'It is tried again.' });
    const merger = await this.#mergerOf(session);
    const { repository } = merger;
    const work = sessions.git(session, session.worktree);
    const look: Look = { entry, row, session, merger, repository, work };
    if (entry.cancel) return this.#moves.cancel(look);
    if (session.life === 'archived') {
      const message = `${conflictWords(entry, row.paths)}, and its agent was put away.`;
      return this.#status.settle(entry, row, fails('conflict', message, { paths: row.paths }));
    }
    let due: Due = look;
    while (due !== undefined) due = await this.#advance(due);
  }

  #advance(look: Look): Promise<Due> {
    return look.row.phase === 'preparing' ? this.#preparation.advance(look) : this.#review.advance(look);
  }
}
