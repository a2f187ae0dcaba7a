import { existsSync, type FSWatcher, lstatSync, watch } from 'node:fs';
import { SharedRegistry } from '../agents/claude/registry.ts';
import { eventsFolder } from '../agents/claude/settings.ts';
import type { Ledger } from '../cost/ledger.ts';
import { isPrivateFolder, makePrivateFolder } from '../environments/private-folder.ts';
import { sleep } from '../platform/clock.ts';
import { bootId } from '../platform/processes.ts';
import { messageOf } from '../protocol/errors.ts';
import type { Reason } from '../protocol/reason.ts';
import type { AgentFact, LifeFact } from '../protocol/session.ts';
import type { SessionContext } from './context.ts';
import { Delivery, type Readiness } from './delivery.ts';
import { display } from './display.ts';
import { Feed, Intake } from './intake.ts';
import { Keyboard } from './keyboard.ts';
import { missingPlace } from './missing-place.ts';
import { isSame, isSameNeed } from './need.ts';
import type { SessionRecord } from './record.ts';
import type { Serial } from './serial.ts';
import { factsOf } from './session-view.ts';
import { shownReason } from './shown-input.ts';
import { readSignals, type SignalReading } from './signals.ts';
import type { TerminalHost } from './terminal-host.ts';

/** How often everything is looked at though no signal came, in milliseconds: repairs a missed one. */
const POLL_MS = 2_000;

/** In how many parts a round is made at most: few sessions are to wake the machine seldom. */
const POLL_STEPS = 20;

/** How often it is looked whether the ptyhost answers, in milliseconds. */
const CHECK_MS = 10_000;

/** How long the ptyhost is waited for at the start, in milliseconds. */
const REACHED_WITHIN_MS = 2_000;

/** Hints come in bursts: one look for those that come within so many milliseconds. An event waits for no other hint. */
const GATHER_MS = 15;

/** Claude Code may write the last row of an answer after its Stop hook has run: so long after it, in milliseconds. */
const LATE_ROW_MS = 250;

interface Watched {
  folder: WatchedFolder | undefined;
  /** Why the folder could not be watched at the last try. */
  unwatchedWhy?: string | undefined;
  /** What the agent asks, with the whole of its input, as of the last look. */
  asked?: Reason | undefined;
  /** See {@link SignalReading}; undefined before the first look. */
  background?: boolean;
  /** A look is due and has not begun: it will find whatever happens until then. */
  due: 'soon' | 'at-once' | undefined;
  cancelLook?: () => void;
  /** What is stored is how the session is. */
  isKnown: boolean;
  feed: Feed;
}

interface WatchedFolder {
  watcher: FSWatcher;
  path: string;
  inode: bigint | undefined;
}

/**
 * Watches the agents: reads every signal, keeps what it means as facts, brings prompts on their way. A look is
 * complete in itself; what calls for one (a file, a terminal, the clock) is only a hint.
 */
export class Observation {
  readonly #context: SessionContext;
  readonly #terminals: TerminalHost;
  readonly #serial: Serial;
  readonly #delivery: Delivery;
  readonly #intake: Intake;
  readonly #registry: SharedRegistry;
  readonly #announce: (id: string) => void;
  readonly #watched = new Map<string, Watched>();
  readonly #boot = bootId() ?? 'unknown';
  /** Terminals of which nothing is known since the machine was started anew. */
  readonly #beforeBoot = new Set<string>();
  #cancelPoll: (() => void) | undefined;
  #cancelCheck: (() => void) | undefined;
  #stopped = false;
  #endListening: (() => void) | undefined;

  constructor(
    context: SessionContext,
    terminals: TerminalHost,
    ledger: Ledger,
    serial: Serial,
    announce: (id: string) => void,
  ) {
    this.#context = context;
    this.#terminals = terminals;
    this.#serial = serial;
    this.#delivery = new Delivery(context, new Keyboard(terminals));
    this.#intake = new Intake(context, ledger, this.#delivery, announce);
    this.#registry = new SharedRegistry(context.clock);
    this.#announce = announce;
  }

  /** Connects to the terminals when sessions have any, and begins to look regularly. */
  async start(): Promise<void> {
    const { table } = this.#context;
    if (table.bootChanged(this.#boot)) {
      for (const { terminal } of table.list({ archived: false })) {
        if (terminal !== null) this.#beforeBoot.add(terminal);
      }
    }
    this.#endListening = this.#terminals.listen((terminal) => {
      for (const session of table.list({ archived: false })) {
        if (session.terminal === terminal) this.#hint(session.id);
        // No look tells of a shell: that it is there no longer is told here.
        else if (session.shell === terminal && !this.#runs(terminal)) this.#announce(session.id);
      }
    });
    // One that does not answer must not keep anybody from being served.
    await Promise.race([this.#reachTerminals(), sleep(REACHED_WITHIN_MS)]);
    this.#poll();
    this.#check();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelPoll?.();
    this.#cancelCheck?.();
    this.#endListening?.();
    for (const { folder } of this.#watched.values()) folder?.watcher.close();
    this.#watched.clear();
  }

  watch(id: string): void {
    this.#add(id, true);
    this.#hint(id);
  }

  /** Watches a session that an earlier sidecar has left, and looks at once; resolves when it is known how it is. */
  takeUp(id: string): Promise<void> {
    this.#add(id, false);
    return this.look(id);
  }

  /** Whether what is stored of a session is how it is: not before a look at one that was taken up has succeeded. */
  isKnown(id: string): boolean {
    return this.#watched.get(id)?.isKnown ?? true;
  }

  unwatch(id: string): void {
    this.#watched.get(id)?.folder?.watcher.close();
    this.#watched.delete(id);
  }

  #add(id: string, isKnown: boolean): void {
    if (this.#watched.has(id)) return;
    this.#watched.set(id, { folder: undefined, due: undefined, isKnown, feed: this.#newFeed(id) });
  }

  /** Looks at once; resolves when what was found is stored. Never rejects: the next look tries again. */
  async look(id: string): Promise<void> {
    try {
      const isSeen = await this.#serial.run(id, () => this.#lookOnce(id));
      const watched = this.#watched.get(id);
      if (isSeen && watched !== undefined) watched.isKnown = true;
    } catch (error) {
      this.#context.log.error('look failed', {
        session: id,
        error: messageOf(error),
        stack: error instanceof Error ? error.stack : undefined,
      });
    }
  }

  /**
   * Applies a demand that was made or withdrawn to the facts. Reads no signal.
   * @param before the demand that stood until now: a need that was not that one is the agent's own, and stays
   */
  recompute(id: string, before?: Reason | null): void {
    const record = this.#context.table.get(id);
    if (before !== undefined && record.agent_fact === 'needs-you' && !isSame(record.reason, before)) return;
    if (record.demand !== null && record.agent_fact !== 'working') {
      this.#store(record, { agent: 'needs-you', reason: record.demand });
    } else if (record.demand === null && record.agent_fact === 'needs-you') {
      this.#store(record, { agent: record.outcome === null ? 'idle' : 'finished', reason: null });
      this.#hint(id);
    }
  }

  /** Whether the agent has something that goes on by itself and wakes it; also when nothing is known yet. */
  hasBackground(id: string): boolean {
    return this.#watched.get(id)?.background ?? true;
  }

  /** What the person is needed for, with the whole of a tool's input where the store has only its beginning. */
  asked({ id, reason }: SessionRecord): Reason | null {
    const asked = this.#watched.get(id)?.asked;
    const isWhole = reason?.truncated !== true || asked === undefined || asked.call !== reason.call;
    return isWhole ? reason : asked;
  }

  /** The turn that runs ends here, because its agent is ended. Gives whether there was one. */
  endTurn({ id }: SessionRecord, outcome: 'done' | 'interrupted'): boolean {
    return this.#intake.endTurn(id, { outcome, answer: null, endedAt: this.#context.clock.now() });
  }

  /** Takes in what the agent left, without a look at what it does: of one that is about to be started. */
  async takeIn(id: string): Promise<void> {
    const record = this.#context.table.get(id);
    if (record.git_dir === null) return;
    const feed = this.#watched.get(id)?.feed ?? this.#newFeed(id);
    await this.#intake.take(record, record.git_dir, feed);
    await this.#intake.takeCost(record, feed);
  }

  /** Sees to it that the events folder is watched; it may have been taken away and made anew. */
  #watchFolder({ id, worktree }: SessionRecord, gitDir: string, watched: Watched): void {
    const path = eventsFolder(gitDir);
    const inode = inodeOf(path);
    const isWatched = watched.folder?.inode === inode && watched.folder?.path === path;
    if (inode !== undefined && isWatched && isPrivateFolder(gitDir, path)) return;
    watched.folder?.watcher.close();
    watched.folder = undefined;
    // A git that makes a lost worktree anew is about to remove what it had of it, and fails when something is added.
    if (inode === undefined && !existsSync(worktree)) return;
    try {
      makePrivateFolder(gitDir, path);
      const watcher = watch(path, { persistent: false }, (_kind, name) => {
        // One that is still being written has a name with a dot.
        if (name?.startsWith('.') !== true) this.#hint(id, { isEvent: true });
      });
      watched.folder = { watcher, path, inode: inodeOf(path) };
      watched.unwatchedWhy = undefined;
      watcher.on('error', () => {
        watcher.close();
        if (watched.folder?.watcher === watcher) watched.folder = undefined;
      });
    } catch (error) {
      // Without a watch the regular look finds the events, later. Each look tries again: the reason is told once.
      const why = messageOf(error);
      if (watched.unwatchedWhy !== why)
        this.#context.log.warn('events not watched', { session: id, error: why });
      watched.unwatchedWhy = why;
    }
  }

  #newFeed(session: string): Feed {
    return new Feed(this.#context, session);
  }

  /** Calls for a look. What comes while one goes on is gathered by that. */
  #hint(id: string, { isEvent = false } = {}): void {
    const watched = this.#watched.get(id);
    if (watched === undefined || watched.due === 'at-once') return;
    if (watched.due === 'soon' && !isEvent) return;
    watched.cancelLook?.();
    watched.due = isEvent ? 'at-once' : 'soon';
    watched.cancelLook = this.#context.clock.after(isEvent ? 0 : GATHER_MS, () => void this.look(id));
  }

  #check(): void {
    if (this.#stopped) return;
    this.#cancelCheck = this.#context.clock.after(
      CHECK_MS,
      () => void this.#terminals.check().finally(() => this.#check()),
    );
  }

  /** Every session once in a round, a few at a time: all at once they would keep the signals of one waiting. */
  #poll(step = 0): void {
    const steps = Math.min(POLL_STEPS, Math.max(1, this.#watched.size));
    this.#cancelPoll = this.#context.clock.after(POLL_MS / steps, () => {
      [...this.#watched.keys()].forEach((id, index) => {
        if (index % steps === step % steps) this.#hint(id);
      });
      if (step % steps === 0) void this.#reachTerminals();
      this.#poll(step + 1);
    });
  }

  /** Connects to the ptyhost when sessions have terminals there. One that died is started again: what it had is gone. */
  async #reachTerminals(): Promise<void> {
    if (this.#terminals.host !== undefined) return;
    const { table, log } = this.#context;
    const isNeeded = table
      .list({ archived: false })
      .some(({ terminal, shell }) => terminal !== null || shell !== null);
    if (!isNeeded) return;
    await this.#terminals
      .open()
      .catch((error: unknown) => log.error('ptyhost not reached', { error: messageOf(error) }));
  }

  /** Gives whether it is known how the session is: not while no ptyhost has said whether its terminal is there. */
  async #lookOnce(id: string): Promise<boolean> {
    const { table } = this.#context;
    const watched = this.#watched.get(id);
    if (watched !== undefined) watched.due = undefined;
    const before = table.find(id);
    if (watched === undefined || before === undefined || before.life === 'archived') return true;
    if (before.git_dir === null) return true;
    this.#watchFolder(before, before.git_dir, watched);
    const taken = await this.#intake.take(before, before.git_dir, watched.feed);
    const ended = this.#endLateTurn(table.get(id));
    const record = table.get(id);
    const { terminal } = record;
    const isSeen = terminal === null || this.#terminals.terminal(terminal).kind !== 'unknown';
    const reading =
      record.terminal === null
        ? undefined
        : await readSignals(this.#context, record, {
            terminals: this.#terminals,
            events: [...this.#intake.events(id, watched.feed).values()],
            transcript: watched.feed.transcript,
            registry: this.#registry,
            silent: this.#terminals.silent,
            rebooted: this.#beforeBoot.has(record.terminal),
          });
    if (reading !== undefined && record.terminal !== null) this.#beforeBoot.delete(record.terminal);
    if (reading !== undefined && readinessOf(record, reading) === 'blocked') {
      this.#delivery.confirmDialog(id, reading.since);
    }
    watched.asked = reading?.reason;
    if (reading !== undefined) watched.background = reading.background;
    // After the signals, so that a need is told once with all that its events say of it; before what they mean, so that a
    // turn that has ended is shown with what it cost.
    const paid = await this.#intake.takeCost(record, watched.feed);
    const changed = reading !== undefined && this.#interpret(table.get(id), reading);
    if (changed || taken || ended || paid) this.#announce(id);
    if (changed && reading?.agent === 'finished') {
      this.#context.clock.after(LATE_ROW_MS, () => this.#hint(id));
    }
    if (reading !== undefined) await this.#deliver(table.get(id), reading);
    if (watched.feed.hasMore) this.#hint(id);
    watched.feed.hasMore = false;
    this.#noteStranded(table.get(id));
    this.#notePlace(table.get(id));
    return isSeen;
  }

  /** A turn that began as its agent was being ended: nothing else tells of its end. Gives whether there was one. */
  #endLateTurn({ id, life, terminal }: SessionRecord): boolean {
    if (life !== 'sleeping') return false;
    if (terminal !== null && this.#terminals.terminal(terminal).kind !== 'gone') return false;
    const endedAt = this.#context.clock.now();
    return this.#intake.endTurn(id, { outcome: 'interrupted', answer: null, endedAt });
  }

  #noteStranded(record: SessionRecord): void {
    const demand = record.demand === null && record.reason === null && this.#delivery.stranded(record);
    if (demand) this.#demand(record.id, demand);
  }

  /** A worktree that is not where it was is the person's to put right, and no longer once it is back. */
  #notePlace(record: SessionRecord): void {
    const missing = missingPlace(record, this.#context.table.repository(record.repository)) ?? null;
    if (record.demand !== null && record.demand.kind !== 'worktree-missing') return;
    if (!isSame(record.demand, missing)) this.#demand(record.id, missing);
    else if (missing === null && record.reason?.kind === 'worktree-missing') {
      // A prompt withdraws what was demanded, also one that then found no worktree.
      this.recompute(record.id);
      this.#announce(record.id);
    }
  }

  #demand(id: string, demand: Reason | null): void {
    const { demand: before } = this.#context.table.get(id);
    this.#context.table.update(id, { demand });
    this.recompute(id, before);
    this.#announce(id);
  }

  #runs(terminal: string): boolean {
    const known = this.#terminals.terminal(terminal);
    return known.kind === 'known' && known.info.exited === undefined;
  }

  /** Turns a reading into facts; gives whether anything that people see has changed. */
  #interpret(record: SessionRecord, reading: SignalReading): boolean {
    const { table, clock } = this.#context;
    const ended =
      reading.agent !== 'working' &&
      reading.outcome !== undefined &&
      this.#intake.endTurn(record.id, {
        outcome: reading.outcome,
        answer: null,
        endedAt: clock.now(),
      });
    const demanded = record.demand !== null && reading.agent !== 'working' && reading.agent !== 'needs-you';
    const stored = this.#store(table.get(record.id), {
      agent: demanded ? 'needs-you' : reading.agent,
      reason: demanded ? record.demand : reading.reason === undefined ? null : shownReason(reading.reason),
      life: reading.life,
      since: reading.since,
    });
    return stored || ended;
  }

  #store(
    record: SessionRecord,
    facts: { agent: AgentFact; reason: Reason | null; life?: LifeFact; since?: number },
  ): boolean {
    const { table, clock, events } = this.#context;
    const life = facts.life ?? record.life;
    const before = display(factsOf(record));
    const after = display({ agent: facts.agent, landing: record.landing, life });
    const sameReason = isSame(record.reason, facts.reason);
    if (record.agent_fact === facts.agent && record.life === life && sameReason) return false;
    const now = clock.now();
    const since = Math.round(facts.since ?? now);
    const sameNeed = isSameNeed(record, { reason: facts.reason, since });
    table.update(record.id, {
      agent_fact: facts.agent,
      ...(facts.reason === null || sameNeed ? {} : { need: record.need + 1 }),
      life,
      reason: facts.reason,
      changed_at: now,
      ...(before === after && sameReason ? {} : { since }),
    });
    if (before !== after || !sameReason) {
      events.add({
        kind: 'session-changed',
        session: record.id,
        state: after,
        entry: null,
        message:
          facts.reason === null || after !== 'needs-you' ? after : `needs you: ${facts.reason.message}`,
      });
    }
    return true;
  }

  async #deliver(record: SessionRecord, reading: SignalReading): Promise<void> {
    const { demand, lookAgainMs } = await this.#delivery.deliver(record, readinessOf(record, reading));
    if (demand !== undefined) this.#demand(record.id, demand);
    if (lookAgainMs !== undefined) {
      this.#context.clock.after(lookAgainMs, () => this.#hint(record.id));
    }
  }
}

function inodeOf(path: string): bigint | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

function readinessOf(record: SessionRecord, reading: SignalReading): Readiness {
  if (!reading.started || record.life === 'sleeping') return 'busy';
  if (reading.agent === 'needs-you') return reading.takesPrompts ? 'ready' : 'blocked';
  return reading.agent === 'working' || reading.agent === 'ended' ? 'busy' : 'ready';
}
