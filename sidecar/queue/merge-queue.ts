import type { Merger } from '../git/merging.ts';
import type { LandMethod, LandTarget, QueueEntry } from '../protocol/entry.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import { hasEnded } from '../protocol/landing.ts';
import type { SessionRecord } from '../sessions/record.ts';
import { Serial } from '../sessions/serial.ts';
import { attemptLanding } from './attempt.ts';
import type { QueueContext } from './context.ts';
import { requireDependencies, unlandedBefore, waitForOthers } from './dependencies.ts';
import { alreadyQueued, type EntryRecord } from './entry-table.ts';
import { baseKey, entryView } from './entry-view.ts';
import { offerHandBack } from './hand-back-offer.ts';
import { HandBacks } from './hand-backs.ts';
import { type LandDecision, type LandPreview, previewLanding, requireLandable } from './land-request.ts';
import { LandingCommits } from './landing-commits.ts';
import { MergedCheck } from './merged-check.ts';
import { Mergers } from './mergers.ts';
import { type Outcome, RETRY_MS } from './outcome.ts';
import { CutOffSwaps, clearLeftovers } from './recovery.ts';
import { secureWork } from './securing.ts';
import { settle } from './settlement.ts';
import { StandingFailures } from './standing-failures.ts';
import { resolveIntent } from './swapping.ts';
import { troubleOf } from './trouble.ts';

export interface LandRequest {
  session: string;
  to?: LandTarget | undefined;
  check?: string | undefined;
  method?: LandMethod | undefined;
  withLocalCommits: boolean;
  /** Sessions that have to land before. A waiting entry that is landed again without any keeps its own. */
  after?: readonly string[] | undefined;
}

/** An attempt that runs. */
interface Running {
  abort: AbortController;
  /** When its outcome is settled. */
  settled: Promise<void>;
}

const ENDED_SHOWN = 100;
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
  readonly #commits = new LandingCommits();
  readonly #check = new MergedCheck();
  readonly #running = new Map<string, Running>();
  /** What was last told of an entry. */
  readonly #told = new Map<string, string>();
  #recovery: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #stopped = false;

  constructor(context: QueueContext) {
    this.#context = context;
    this.#cutOff = new CutOffSwaps(context, this.#mergers);
    this.#standing = new StandingFailures(
      context,
      async (session) => (await this.#mergerOf(session)).repository,
    );
    this.#handBacks = new HandBacks(context, {
      mergerOf: (session) => this.#mergerOf(session),
      announce: (id) => this.#announce(id),
      landable: () => this.tick(),
    });
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
    const preview = await previewLanding(this.#context, session, repository);
    const isHandedBack = this.#context.entries.openOf(session.id)?.state === 'handed-back';
    // What a merge has left there is not committed by landing again.
    return isHandedBack ? { ...preview, uncommitted: [] } : preview;
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
    const { entries, sessions } = this.#context;
    const open = entries.openOf(session.id);
    if (open?.state === 'handed-back') {
      if (!(await this.#handBacks.landAgain(open.id))) throw alreadyQueued();
      return this.view(open.id);
    }
    if (open !== undefined && open.state !== 'waiting') throw alreadyQueued();
    const { repository } = await this.#mergerOf(session);
    const decided = await requireLandable(this.#context, session, repository, {
      ...request,
      ...(open === undefined ? {} : asBefore(open, request)),
    });
    const id = entries.transaction(() => {
      const now = entries.openOf(session.id);
      if (now !== undefined && now.state !== 'waiting') throw alreadyQueued();
      const after = requireDependencies(this.#context, session, request.after ?? []);
      // Where the configuration says it, another answer counts this time only; so does one that nothing lands by yet.
      if (request.to !== undefined && decided.configured === null && decided.hasWork) {
        sessions.setLandTo(session.repository, request.to);
      }
      return now === undefined
        ? this.#add(session, decided, request, after)
        : this.#again(now, decided, request, after);
    });
    this.#announce(id);
    this.tick();
    return this.view(id);
  }

  /** The land order; with `ended` the last hundred entries that have ended, too. */
  list(filter: { base?: string | undefined; ended: boolean }): QueueEntry[] {
    const { entries } = this.#context;
    const open = entries.open();
    const records = [...open, ...(filter.ended ? entries.ended(ENDED_SHOWN) : [])];
    return records
      .filter((entry) => filter.base === undefined || entry.base === filter.base)
      .map((entry) => this.#viewOf(entry, open));
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
    const { entries } = this.#context;
    return this.#viewOf(entries.get(id), entries.open());
  }

  #viewOf(entry: EntryRecord, open: readonly EntryRecord[]): QueueEntry {
    const { sessions, handBacks } = this.#context;
    const key = baseKey(entry);
    const at = open.filter((each) => baseKey(each) === key).findIndex((each) => each.id === entry.id);
    const { main } = sessions.repository(entry.repository);
    const handBack = entry.state === 'handed-back' ? handBacks.open(entry.id) : undefined;
    return entryView(entry, sessions.get(entry.session).title, main, at < 0 ? null : at + 1, handBack);
  }

  #add(
    session: SessionRecord,
    decided: LandDecision,
    request: LandRequest,
    after: readonly string[],
  ): string {
    const { entries, sessions, ids, clock } = this.#context;
    const now = clock.now();
    const { id } = entries.add({
      id: ids.short(8),
      session: session.id,
      repository: session.repository,
      branch: session.branch,
      base: session.base,
      target: decided.target,
      remote: decided.remote,
      method: decided.method,
      check_command: decided.check,
      with_local_commits: request.withLocalCommits,
      priority: 0,
      state: 'queued',
      reason: null,
      message: null,
      paths: [],
      after_sessions: [...after],
      head: null,
      tries: 0,
      base_moved: 0,
      cancel: false,
      landed: null,
      queued_at: now,
      changed_at: now,
      ended_at: null,
      retry_at: null,
      rewound_to: null,
      troubles: 0,
    });
    sessions.setLanding(session.id, 'queued', null);
    return id;
  }

  /** A waiting entry that the person lands again: as they say this time, with the work as it is, at once. */
  #again(entry: EntryRecord, decided: LandDecision, request: LandRequest, after: readonly string[]): string {
    const { entries } = this.#context;
    this.#check.forget();
    // As long as it may have happened, what was begun stays as it is.
    const mayHaveMoved = entries.intent(entry.id) !== undefined;
    entries.update(entry.id, {
      retry_at: null,
      ...(mayHaveMoved
        ? {}
        : {
            target: decided.target,
            remote: decided.remote,
            method: decided.method,
            check_command: decided.check,
            with_local_commits: request.withLocalCommits || entry.with_local_commits,
            after_sessions: after.length > 0 ? [...after] : entry.after_sessions,
            head: null,
          }),
    });
    return entry.id;
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
    let outcome: Outcome;
    try {
      outcome = await this.#advance(entry, signal);
    } catch (error) {
      if (isCancelled(error, signal)) {
        // What was begun may have happened: it is looked at anew, as after a crash.
        if (this.#context.entries.intent(entry.id) !== undefined) return;
        outcome = { kind: 'cancelled' };
      } else {
        this.#context.log.error('attempt failed', { entry: entry.id, error: messageOf(error) });
        outcome = troubleOf(error);
      }
    }
    this.#settle(entry.id, outcome);
  }

  /** One attempt, whatever state the entry was left in. */
  async #advance(entry: EntryRecord, signal: AbortSignal): Promise<Outcome> {
    const { entries, sessions } = this.#context;
    const session = sessions.get(entry.session);
    const merger = await this.#mergerOf(session);
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
      check: this.#check,
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
    this.#announce(id);
  }

  #settle(id: string, outcome: Outcome): void {
    for (const changed of settle(this.#context, id, outcome)) this.#announce(changed);
    if (outcome.kind === 'handed-back') this.#handBacks.look();
  }

  /** Tells clients; an event is what is worth a line in the history, not that something was tried again in vain. */
  #announce(id: string): void {
    const view = this.view(id);
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

function isCancelled(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && error instanceof FairleadError && error.code === 'cancelled';
}

/** How a waiting entry lands where the person does not say otherwise. */
function asBefore(entry: EntryRecord, request: LandRequest) {
  return {
    to: request.to ?? entry.target,
    method: request.method ?? entry.method,
    check: request.check ?? entry.check_command ?? undefined,
    withLocalCommits: request.withLocalCommits || entry.with_local_commits,
  };
}
