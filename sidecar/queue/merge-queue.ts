import type { Merger } from '../git/merging.ts';
import type { Clock } from '../platform/clock.ts';
import type { LandMethod, LandTarget, QueueEntry } from '../protocol/entry.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { SessionRecord } from '../sessions/record.ts';
import { Serial } from '../sessions/serial.ts';
import { attemptLanding } from './attempt.ts';
import { BaseCheck } from './base-check.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord } from './entry-table.ts';
import { entryView, laneOf } from './entry-view.ts';
import { type LandPreview, previewLanding, requireLandable } from './land-request.ts';
import { Mergers } from './mergers.ts';
import { type Outcome, RETRY_MS, waits } from './outcome.ts';
import { secureWork } from './securing.ts';
import { settle } from './settlement.ts';
import { resolveIntent } from './swapping.ts';

export interface LandRequest {
  session: string;
  to?: LandTarget | undefined;
  check?: string | undefined;
  method?: LandMethod | undefined;
  withLocalCommits: boolean;
}

/**
 * The merge queue. Level-triggered: every pass reads the store and git and does what is due, so that a signal that
 * comes late, twice or never changes nothing. Entries of one base land one after the other; bases do not wait for
 * each other.
 */
export class MergeQueue {
  readonly #context: QueueContext;
  readonly #lanes = new Serial();
  readonly #scheduled = new Set<string>();
  readonly #mergers = new Mergers();
  readonly #baseCheck = new BaseCheck();
  readonly #attempts = new Map<string, AbortController>();
  readonly #clock: Clock;
  #cancelTimer: (() => void) | undefined;
  #stopped = false;

  constructor(context: QueueContext) {
    this.#context = context;
    this.#clock = context.clock;
  }

  /** Looks at everything that is open. Cheap when nothing is due; called at start and after every change. */
  tick(): void {
    if (this.#stopped) return;
    for (const entry of this.#context.entries.open()) this.#schedule(laneOf(entry));
  }

  /** Waits for what is under way, and starts nothing more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    for (const attempt of this.#attempts.values()) attempt.abort();
    await Promise.all([...this.#scheduled].map((lane) => this.#lanes.run(lane, async () => {})));
  }

  get isBusy(): boolean {
    return this.#context.entries.open().length > 0;
  }

  async preview(name: string): Promise<LandPreview> {
    const session = this.#context.sessions.resolve(name);
    return previewLanding(this.#context, session, await this.#mergerOf(session));
  }

  /**
   * Puts a session at the end of the land order. One that waits already is looked at again at once.
   * @throws FairleadError `land.where-to-unset`, `land.no-remote`, `land.nothing-to-land`, `land.uncommitted`,
   * `land.base-diverged`, `land.already-queued`, `git.too-old`
   */
  async land(request: LandRequest): Promise<QueueEntry> {
    const { entries, sessions, ids } = this.#context;
    const session = sessions.resolve(request.session);
    const open = entries.openOf(session.id);
    if (open?.state === 'waiting') return this.#again(open, request);
    const merger = await this.#mergerOf(session);
    const decided = await requireLandable(this.#context, session, merger, request);
    const now = this.#clock.now();
    const entry = entries.transaction(() => {
      if (request.to !== undefined) sessions.setLandTo(session.repository, request.to);
      const added = entries.add({
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
        head: null,
        tries: 0,
        base_moved: 0,
        cancel: false,
        landed: null,
        queued_at: now,
        changed_at: now,
        ended_at: null,
        retry_at: null,
      });
      sessions.setLanding(session.id, 'queued', null);
      return added;
    });
    this.#announce(entry.id);
    this.tick();
    return this.view(entry.id);
  }

  /** The land order; with `ended` the last hundred entries that have ended, too. */
  list(filter: { base?: string | undefined; ended: boolean }): QueueEntry[] {
    const { entries } = this.#context;
    const records = [...entries.open(), ...(filter.ended ? entries.ended(100) : [])];
    return records
      .filter((entry) => filter.base === undefined || entry.base === filter.base)
      .map((entry) => this.view(entry.id));
  }

  /**
   * Takes a session out of the land order. Wins until the base is about to move; what is answered is how it ended.
   * @throws FairleadError `queue.not-queued`
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
    this.#attempts.get(entry.id)?.abort();
    await this.#schedule(laneOf(entry));
    return this.view(entry.id);
  }

  view(id: string): QueueEntry {
    const { entries, sessions } = this.#context;
    const entry = entries.get(id);
    const lane = laneOf(entry);
    const order = entries.open().filter((each) => laneOf(each) === lane);
    const at = order.findIndex((each) => each.id === id);
    const { main } = sessions.repository(entry.repository);
    return entryView(entry, sessions.get(entry.session).title, main, at < 0 ? null : at + 1);
  }

  /** A waiting entry that the person lands again: with what they say this time, at once. */
  #again(entry: EntryRecord, request: LandRequest): QueueEntry {
    this.#context.entries.update(entry.id, {
      retry_at: null,
      ...(request.withLocalCommits ? { with_local_commits: true } : {}),
      ...(request.check === undefined ? {} : { check_command: request.check }),
      ...(request.method === undefined ? {} : { method: request.method }),
    });
    this.tick();
    return this.view(entry.id);
  }

  #mergerOf(session: SessionRecord): Promise<Merger> {
    const { main } = this.#context.sessions.repository(session.repository);
    return this.#mergers.of(this.#context.sessions.git(session, main), main);
  }

  /** At most one pass waits behind the one that runs. */
  #schedule(lane: string): Promise<void> {
    if (this.#scheduled.has(lane)) return this.#lanes.run(lane, async () => {});
    this.#scheduled.add(lane);
    return this.#lanes.run(lane, async () => {
      this.#scheduled.delete(lane);
      await this.#drain(lane).catch((error: unknown) =>
        this.#context.log.error('lane stopped', { lane, error: messageOf(error) }),
      );
      this.#wakeForRetries();
    });
  }

  /** Does everything that is due on one base, in land order. */
  async #drain(lane: string): Promise<void> {
    const passed = new Set<string>();
    while (!this.#stopped) {
      const entry = this.#context.entries
        .open()
        .find((each) => laneOf(each) === lane && !passed.has(each.id) && this.#isDue(each));
      if (entry === undefined) return;
      const outcome = await this.#advance(entry);
      settle(this.#context, entry, outcome);
      await this.#context.step('settled');
      this.#announce(entry.id);
      // What waits is passed over for the rest of this pass: it holds up nobody.
      if (outcome.kind === 'waits') passed.add(entry.id);
    }
  }

  #isDue(entry: EntryRecord): boolean {
    if (entry.cancel || entry.state !== 'waiting') return true;
    if (entry.reason === 'in-a-turn') return !this.#context.sessions.isInTurn(entry.session);
    return (entry.retry_at ?? 0) <= this.#clock.now();
  }

  /** One attempt, whatever state the entry was left in. */
  async #advance(entry: EntryRecord): Promise<Outcome> {
    const { entries, sessions } = this.#context;
    const session = sessions.get(entry.session);
    const attempt = new AbortController();
    this.#attempts.set(entry.id, attempt);
    try {
      const merger = await this.#mergerOf(session);
      const intent = entries.intent(entry.id);
      if (intent !== undefined) return await resolveIntent(this.#context, merger.repository, entry, intent);
      if (entry.cancel) return { kind: 'cancelled' };
      entries.update(entry.id, {
        state: 'securing',
        reason: null,
        message: null,
        changed_at: this.#clock.now(),
      });
      const head = await this.#securedHead(entry, session);
      if (head.kind !== 'secured') return head;
      entries.update(entry.id, { state: 'merging', head: head.head });
      sessions.setLanding(session.id, 'landing', null);
      this.#announce(entry.id);
      return await attemptLanding(this.#context, {
        entry: { ...entries.get(entry.id), head: head.head },
        session,
        merger,
        baseCheck: this.#baseCheck,
        signal: attempt.signal,
      });
    } catch (error) {
      this.#context.log.error('attempt failed', { entry: entry.id, error: messageOf(error) });
      return waits('infrastructure', messageOf(error), RETRY_MS.infrastructure);
    } finally {
      this.#attempts.delete(entry.id);
    }
  }

  async #securedHead(entry: EntryRecord, session: SessionRecord) {
    if (entry.head !== null) return { kind: 'secured', head: entry.head } as const;
    return secureWork(this.#context, session);
  }

  #announce(id: string): void {
    const view = this.view(id);
    this.#context.events.add({
      kind: 'entry-changed',
      session: view.session,
      state: null,
      entry: view.state,
      message: view.message ?? view.state,
    });
    this.#context.changed(view);
  }

  /** Comes back when the first of those that wait is due. */
  #wakeForRetries(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const times = this.#context.entries
      .open()
      .flatMap(({ retry_at }) => (retry_at === null ? [] : [retry_at]));
    if (times.length === 0 || this.#stopped) return;
    const wait = Math.max(100, Math.min(...times) - this.#clock.now());
    this.#cancelTimer = this.#clock.after(wait, () => this.tick());
  }
}
