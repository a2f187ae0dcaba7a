import type { Merger } from '../git/merging.ts';
import type { QueueEntry } from '../protocol/entry.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { SessionRecord } from '../sessions/record.ts';
import { Serial } from '../sessions/serial.ts';
import { admit } from './admission.ts';
import type { QueueContext } from './context.ts';
import { unlandedBefore } from './dependencies.ts';
import { EntryLanding } from './entry-landing.ts';
import { EntryNews } from './entry-news.ts';
import { alreadyQueued, type EntryRecord } from './entry-table.ts';
import { baseKey } from './entry-view.ts';
import { HandBacks } from './hand-backs.ts';
import { LandOrder } from './land-order.ts';
import { type LandPreview, type LandRequest, previewLanding } from './land-request.ts';
import { MergedCheck } from './merged-check.ts';
import { Mergers } from './mergers.ts';
import { type Outcome, RETRY_MS } from './outcome.ts';
import { CutOffSwaps, clearLeftovers } from './recovery.ts';
import { settle } from './settlement.ts';
import { StandingFailures } from './standing-failures.ts';

/** An attempt that runs. */
interface Running {
  abort: AbortController;
  /** When its outcome is settled. */
  settled: Promise<void>;
}

/** Between two looks at the same thing, at least, in milliseconds. */
const LOOK_AGAIN = 1_000;

/**
 * The merge queue. Level-triggered: every pass reads the store and git and does what is due, so that a signal that
 * comes late, twice or never changes nothing. Entries of one base land one after the other; bases do not wait for
 * each other.
 */
export class MergeQueue {
  readonly #context: QueueContext;
  readonly #requests = new Serial();
  readonly #bases = new Serial();
  /** Bases with a pass that has not begun. */
  readonly #scheduled = new Set<string>();
  readonly #passes = new Set<Promise<void>>();
  readonly #mergers = new Mergers();
  readonly #cutOff: CutOffSwaps;
  readonly #standing: StandingFailures;
  readonly #handBacks: HandBacks;
  readonly #check = new MergedCheck();
  readonly #landing: EntryLanding;
  readonly #order: LandOrder;
  readonly #news: EntryNews;
  readonly #running = new Map<string, Running>();
  #recovery: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #stopped = false;

  constructor(context: QueueContext) {
    this.#context = context;
    this.#order = new LandOrder(context);
    this.#news = new EntryNews(context, this.#order);
    const mergerOf = (session: SessionRecord) => this.#mergerOf(session);
    const announce = (id: string) => this.#news.announce(id);
    this.#landing = new EntryLanding(context, { check: this.#check, mergerOf, announce });
    this.#cutOff = new CutOffSwaps(context, this.#mergers);
    this.#standing = new StandingFailures(
      context,
      async (session) => (await this.#mergerOf(session)).repository,
    );
    this.#handBacks = new HandBacks(context, { mergerOf, announce, landable: () => this.tick() });
  }

  /** Looks at everything that is open. Cheap when nothing is due; called at start and after every change. */
  tick(): void {
    if (this.#stopped) return;
    void this.#recover();
    for (const entry of this.#context.entries.open()) this.#schedule(baseKey(entry));
    this.#standing.look();
    this.#handBacks.look();
  }

  /** Ends what is under way where it can be taken up again, waits for the rest, and starts nothing more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    for (const { abort } of this.#running.values()) abort.abort();
    await Promise.all([this.#recovery, ...this.#passes]);
    await this.#cutOff.stop();
    await this.#standing.stop();
    await this.#handBacks.stop();
  }

  /** Something is being done or due. What only waits goes on in another sidecar as in this one: it is in the store. */
  get isAtWork(): boolean {
    const rests = ({ state }: EntryRecord) => state === 'waiting' || state === 'handed-back';
    return this.#running.size > 0 || !this.#context.entries.open().every(rests);
  }

  /** What {@link stop} waits for. */
  get underWay(): QueueEntry[] {
    return [...this.#running.keys()].map((id) => this.view(id));
  }

  /** Something is in the land order: somebody has to see to it. */
  get isBusy(): boolean {
    return this.#context.entries.open().length > 0;
  }

  async preview(name: string): Promise<LandPreview> {
    const session = this.#context.sessions.resolve(name);
    const { repository } = await this.#mergerOf(session);
    const open = this.#context.entries.openOf(session.id);
    // What was said of one that is landed again holds on.
    const preview = await previewLanding(this.#context, session, repository, open?.target);
    if (open === undefined) return preview;
    const isHandedBack = open.state === 'handed-back';
    return {
      ...preview,
      // What a merge has left there is not committed by landing again.
      uncommitted: isHandedBack ? [] : preview.uncommitted,
      localOnly: isHandedBack || open.with_local_commits ? 0 : preview.localOnly,
      mayLand: true,
    };
  }

  /**
   * Puts a session at the end of the land order. One that waits already keeps its place, takes over what is asked for,
   * and is looked at again at once.
   * @throws FairleadError `land.where-to-unset`, `land.no-remote`, `land.nothing-to-land`, `land.uncommitted`,
   * `land.base-diverged`, `land.branch-missing`, `land.work-elsewhere`, `land.already-queued`, `worktree.broken`, `git.too-old`, `session.missing`, `session.ambiguous`
   */
  async land(request: LandRequest): Promise<QueueEntry> {
    const session = this.#context.sessions.resolve(request.session);
    // First asked, first in, however long each look takes.
    return this.#requests.run(session.repository, () => this.#enqueue(session, request));
  }

  async #enqueue(session: SessionRecord, request: LandRequest): Promise<QueueEntry> {
    const open = this.#context.entries.openOf(session.id);
    if (open?.state === 'handed-back') {
      if (!(await this.#handBacks.landAgain(open.id))) throw alreadyQueued(session.id);
      // Whoever waits for it is to see what it waits for from now on. What fails is looked at again.
      await this.#handBacks.finish(open.id).catch((error: unknown) => {
        this.#context.log.warn('hand-back not looked at', { entry: open.id, error: messageOf(error) });
      });
      return this.view(open.id);
    }
    if (open !== undefined && open.state !== 'waiting') throw alreadyQueued(session.id);
    const { repository } = await this.#mergerOf(session);
    const { id, kept } = await admit(this.#context, {
      session,
      repository,
      request,
      waiting: open,
      check: this.#check,
    });
    this.#news.announce(id);
    this.tick();
    return { ...this.view(id), ...(kept ? { kept } : {}) };
  }

  /** The land order; with `ended` the last hundred entries that have ended, too. */
  list(filter: { base?: string | undefined; ended: boolean }): QueueEntry[] {
    return this.#order.list(filter);
  }

  /**
   * Takes a session out of the land order. Wins until the base is about to move; what is answered is how it ended, or
   * where it stands while that cannot be told.
   * @throws FairleadError `queue.not-queued`, `session.missing`, `session.ambiguous`
   */
  async remove(name: string): Promise<QueueEntry> {
    const { entries, sessions } = this.#context;
    const session = sessions.resolve(name);
    const entry = entries.openOf(session.id);
    if (entry === undefined) {
      throw new FairleadError('queue.not-queued', `${session.id} is not in the queue.`, {
        hint: 'Run `fairlead queue` to see the land order.',
      });
    }
    entries.cancel(entry.id);
    const running = this.#running.get(entry.id);
    running?.abort.abort();
    await running?.settled;
    if (entries.get(entry.id).state === 'handed-back') await this.#handBacks.finish(entry.id);
    if (entries.intent(entry.id) === undefined && !this.#running.has(entry.id)) {
      this.#settle(entry.id, { kind: 'cancelled' });
    }
    this.tick();
    return this.view(entry.id);
  }

  view(id: string): QueueEntry {
    return this.#order.entry(id);
  }

  #mergerOf(session: SessionRecord): Promise<Merger> {
    const { sessions } = this.#context;
    const place = sessions.repository(session.repository);
    return this.#mergers.of(sessions.git(session, place.main), place);
  }

  /** Once, before anything else: what a queue before us left. Never rejects. */
  #recover(): Promise<void> {
    this.#recovery ??= clearLeftovers(this.#context, this.#mergers)
      .then(() => this.#cutOff.look())
      .catch((error: unknown) => this.#context.log.error('queue not recovered', { error: messageOf(error) }));
    return this.#recovery;
  }

  /** At most one pass waits behind the one that runs. */
  #schedule(base: string): void {
    if (this.#scheduled.has(base)) return;
    this.#scheduled.add(base);
    const pass = this.#bases.run(base, () => this.#pass(base)).finally(() => this.#passes.delete(pass));
    this.#passes.add(pass);
  }

  /** Never rejects. */
  async #pass(base: string): Promise<void> {
    this.#scheduled.delete(base);
    try {
      await this.#recover();
      await this.#drain(base);
      void this.#cutOff.look();
      this.#wakeForRetries();
    } catch (error) {
      this.#context.log.error('landing on a base stopped', { base, error: messageOf(error) });
      this.#wakeAfter(RETRY_MS.infrastructure);
    }
  }

  /** Does everything that is due on one base, in land order. */
  async #drain(base: string): Promise<void> {
    const passed = new Set<string>();
    while (!this.#stopped) {
      const entry = this.#context.entries
        .open()
        .find((each) => baseKey(each) === base && !passed.has(each.id) && this.#isDue(each));
      if (entry === undefined) return;
      const abort = new AbortController();
      const settled = this.#attempt(entry, abort.signal).finally(() => this.#running.delete(entry.id));
      this.#running.set(entry.id, { abort, settled });
      await settled;
      await this.#context.step('settled');
      // What waits is passed over for the rest of this pass: it holds up nobody.
      if (this.#context.entries.get(entry.id).state === 'waiting') passed.add(entry.id);
    }
  }

  #isDue(entry: EntryRecord): boolean {
    const { clock, sessions } = this.#context;
    if (entry.state === 'handed-back') return false;
    if (entry.retry_at === null) return true;
    if (entry.reason === 'in-a-turn') return !sessions.isInTurn(entry.session);
    if (entry.reason === 'after' && unlandedBefore(this.#context, entry) === undefined) return true;
    // A clock that was set back must not keep it waiting.
    return clock.now() >= entry.retry_at || clock.now() < entry.changed_at;
  }

  async #attempt(entry: EntryRecord, signal: AbortSignal): Promise<void> {
    const outcome = await this.#landing.run(entry, signal);
    if (outcome !== undefined) this.#settle(entry.id, outcome);
  }

  #settle(id: string, outcome: Outcome): void {
    for (const changed of settle(this.#context, id, outcome)) this.#news.announce(changed);
    if (outcome.kind === 'handed-back') this.#handBacks.look();
  }

  /** Comes back when the first of those that wait is due. */
  #wakeForRetries(): void {
    const now = this.#context.clock.now();
    const waits = this.#context.entries.open().flatMap(({ retry_at, reason }) => {
      if (retry_at === null) return [];
      return [reason === 'in-a-turn' ? RETRY_MS.turn : retry_at - now];
    });
    if (waits.length > 0) this.#wakeAfter(Math.min(...waits));
  }

  #wakeAfter(ms: number): void {
    this.#cancelTimer?.();
    if (!this.#stopped) {
      this.#cancelTimer = this.#context.clock.after(Math.max(LOOK_AGAIN, ms), () => this.tick());
    }
  }
}
