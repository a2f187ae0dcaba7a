import { type FSWatcher, mkdirSync, rmSync, watch } from 'node:fs';
import { join } from 'node:path';
import { finishedCalls } from '../agents/claude/hook-compaction.ts';
import { type HookEvent, readEventFiles } from '../agents/claude/hook-event.ts';
import { eventsFolder } from '../agents/claude/settings.ts';
import {
  claudeConfigDir,
  findSubagentTranscripts,
  findTranscript,
} from '../agents/claude/transcript-path.ts';
import type { Ledger } from '../cost/ledger.ts';
import { bootId } from '../platform/processes.ts';
import { messageOf } from '../protocol/errors.ts';
import type { Reason } from '../protocol/reason.ts';
import type { AgentFact, LifeFact } from '../protocol/session.ts';
import type { SessionContext } from './context.ts';
import { Delivery, type Readiness } from './delivery.ts';
import { display } from './display.ts';
import { Keyboard } from './keyboard.ts';
import type { SessionRecord } from './record.ts';
import type { Serial } from './serial.ts';
import { factsOf } from './session-view.ts';
import { readSignals, type SignalReading } from './signals.ts';
import type { TerminalHost } from './terminal-host.ts';
import { TranscriptTail } from './transcript-tail.ts';
import { applyToTurns, closeOpenTurn, type TurnChange } from './turns.ts';

/** How often everything is looked at though no signal came, in milliseconds: repairs a missed one. */
const POLL_MS = 2_000;

/** Events come in bursts: one look for those that come within so many milliseconds. */
const GATHER_MS = 15;

interface Watched {
  watcher: FSWatcher | undefined;
  gathering: boolean;
  /** Events that still matter, by name; read from the store when first needed. */
  events: Map<string, HookEvent> | undefined;
  transcript: TranscriptTail;
}

/**
 * Watches the agents: reads every signal, keeps what it means as facts, brings prompts on their way. A look is
 * complete in itself; what calls for one (a file, a terminal, the clock) is only a hint.
 */
export class Observation {
  readonly #context: SessionContext;
  readonly #terminals: TerminalHost;
  readonly #ledger: Ledger;
  readonly #serial: Serial;
  readonly #delivery: Delivery;
  readonly #announce: (id: string) => void;
  readonly #watched = new Map<string, Watched>();
  readonly #boot = bootId() ?? 'unknown';
  #rebooted = false;
  #cancelPoll: (() => void) | undefined;
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
    this.#ledger = ledger;
    this.#serial = serial;
    this.#delivery = new Delivery(context, new Keyboard(terminals));
    this.#announce = announce;
  }

  /** Connects to the terminals when sessions have any, and begins to look regularly. */
  async start(): Promise<void> {
    const { table } = this.#context;
    this.#rebooted = table.bootChanged(this.#boot);
    this.#endListening = this.#terminals.listen((terminal) => {
      const session = table.list({ archived: false }).find((each) => each.terminal === terminal);
      if (session !== undefined) this.#hint(session.id);
    });
    if (table.list({ archived: false }).some(({ terminal, shell }) => terminal !== null || shell !== null)) {
      await this.#terminals
        .open()
        .catch((error: unknown) =>
          this.#context.log.error('ptyhost not reached', { error: messageOf(error) }),
        );
    }
    this.#poll();
  }

  stop(): void {
    this.#cancelPoll?.();
    this.#endListening?.();
    for (const { watcher } of this.#watched.values()) watcher?.close();
    this.#watched.clear();
  }

  watch(id: string): void {
    const known = this.#watched.get(id);
    if (known === undefined) {
      const watcher = this.#watcherFor(id);
      this.#watched.set(id, {
        watcher,
        gathering: false,
        events: undefined,
        transcript: new TranscriptTail(),
      });
    } else {
      known.watcher ??= this.#watcherFor(id);
    }
    this.#hint(id);
  }

  unwatch(id: string): void {
    this.#watched.get(id)?.watcher?.close();
    this.#watched.delete(id);
  }

  /** Looks at once; resolves when what was found is stored. */
  look(id: string): Promise<void> {
    return this.#serial
      .run(id, () => this.#lookOnce(id))
      .catch((error: unknown) =>
        this.#context.log.error('look failed', {
          session: id,
          error: messageOf(error),
          stack: error instanceof Error ? error.stack : undefined,
        }),
      );
  }

  /** Applies a demand that was made or withdrawn to the facts. Reads no signal. */
  recompute(id: string): void {
    const record = this.#context.table.get(id);
    if (record.demand !== null && record.agent_fact !== 'working') {
      this.#store(record, { agent: 'needs-you', reason: record.demand });
    } else if (record.demand === null && record.agent_fact === 'needs-you') {
      this.#store(record, { agent: record.outcome === null ? 'idle' : 'finished', reason: null });
      this.#hint(id);
    }
  }

  /** The turn that runs ends here, because its agent is ended. */
  endTurn(record: SessionRecord, outcome: 'done' | 'interrupted'): void {
    const { table, clock } = this.#context;
    if (closeOpenTurn(table, record.id, { outcome, answer: null, endedAt: clock.now() })) {
      table.update(record.id, { outcome });
    }
  }

  #watcherFor(id: string): FSWatcher | undefined {
    const { git_dir } = this.#context.table.get(id);
    if (git_dir === null) return undefined;
    try {
      const folder = eventsFolder(git_dir);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const watcher = watch(folder, { persistent: false }, () => this.#hint(id));
      watcher.on('error', () => watcher.close());
      return watcher;
    } catch (error) {
      // Without a watch the regular look finds the events, later.
      this.#context.log.warn('events not watched', { session: id, error: messageOf(error) });
      return undefined;
    }
  }

  #hint(id: string): void {
    const watched = this.#watched.get(id);
    if (watched === undefined || watched.gathering) return;
    watched.gathering = true;
    this.#context.clock.after(GATHER_MS, () => {
      watched.gathering = false;
      void this.look(id);
    });
  }

  #poll(): void {
    this.#cancelPoll = this.#context.clock.after(POLL_MS, () => {
      for (const id of this.#watched.keys()) this.#hint(id);
      this.#poll();
    });
  }

  async #lookOnce(id: string): Promise<void> {
    const { table } = this.#context;
    const before = table.find(id);
    if (before === undefined || before.life === 'archived' || before.git_dir === null) return;
    const watched = this.#watched.get(id);
    if (watched === undefined) return;
    const changedTurns = this.#takeEvents(before, before.git_dir, watched);
    const record = table.get(id);
    const paid = this.#readCost(record, watched);
    if (record.terminal === null) {
      if (changedTurns || paid) this.#announce(id);
      return;
    }
    const reading = await readSignals(this.#context, record, {
      terminals: this.#terminals,
      events: [...this.#eventsOf(id, watched).values()],
      transcript: watched.transcript,
      rebooted: this.#rebooted,
    });
    if (reading === undefined) return;
    const stored = this.#interpret(record, reading);
    if (stored || changedTurns || paid) this.#announce(id);
    await this.#deliver(table.get(id), reading);
  }

  /** Keeps what the hooks dropped, with what it means for turns and prompts; then removes the files. */
  #takeEvents(record: SessionRecord, gitDir: string, watched: Watched): boolean {
    const { table, events, log } = this.#context;
    const folder = eventsFolder(gitDir);
    const found = readEventFiles(folder);
    if (found.files.length === 0) return false;
    for (const { file, why } of found.refused) log.warn('event refused', { session: record.id, file, why });
    const known = this.#eventsOf(record.id, watched);
    const change = table.transaction(() => {
      const fresh = found.events.filter((event) =>
        table.keepHookEvent(record.id, event.name, JSON.stringify(event)),
      );
      for (const event of fresh) known.set(event.name, event);
      const arrived = this.#delivery.confirm(record.id, fresh);
      const turns = applyToTurns(table, record.id, fresh, arrived);
      this.#noteTurns(record, turns);
      const finished = finishedCalls([...known.values()]);
      table.dropHookEvents(record.id, finished);
      for (const name of finished) known.delete(name);
      return turns;
    });
    for (const file of found.files) rmSync(join(folder, file), { force: true, recursive: true });
    if (change.closed) {
      events.add({
        kind: 'session-turn',
        session: record.id,
        state: null,
        entry: null,
        message: `turn ${table.turnCount(record.id)} ended`,
      });
    }
    return change.opened || change.closed;
  }

  #noteTurns(record: SessionRecord, turns: TurnChange): void {
    const { table } = this.#context;
    if (turns.opened) {
      const landing = record.landing === 'landed' ? 'none' : record.landing;
      table.update(record.id, { demand: null, unread: false, landing, outcome: 'open' });
    }
    if (turns.closed) {
      table.update(record.id, { outcome: table.turns(record.id).at(-1)?.outcome ?? null, unread: true });
    }
  }

  #eventsOf(session: string, watched: Watched): Map<string, HookEvent> {
    watched.events ??= new Map(
      this.#context.table.hookEvents(session).map(({ name, body }) => [name, JSON.parse(body) as HookEvent]),
    );
    return watched.events;
  }

  #readCost(record: SessionRecord, watched: Watched): boolean {
    const { table, log } = this.#context;
    const configDir = claudeConfigDir(table.environment(record.environment));
    if (configDir === undefined) return false;
    const transcripts: string[] = [];
    for (const { id, transcript } of table.agentSessions(record.id)) {
      const path = transcript ?? findTranscript(configDir, id);
      if (path === undefined) continue;
      if (transcript === null) table.setTranscript(record.id, id, path);
      transcripts.push(path, ...findSubagentTranscripts(path));
      watched.transcript.follow(path);
    }
    try {
      const { requests, unreadable } = this.#ledger.read(transcripts);
      for (const error of unreadable)
        log.warn('transcript not read', { session: record.id, error: error.message });
      return requests > 0;
    } catch (error) {
      log.error('cost not read', { session: record.id, error: messageOf(error) });
      return false;
    }
  }

  /** Turns a reading into facts; gives whether anything that people see has changed. */
  #interpret(record: SessionRecord, reading: SignalReading): boolean {
    const { table, clock } = this.#context;
    if (reading.agent !== 'working' && reading.outcome === 'interrupted') {
      const ended = closeOpenTurn(table, record.id, {
        outcome: 'interrupted',
        answer: null,
        endedAt: clock.now(),
      });
      if (ended) table.update(record.id, { outcome: 'interrupted', unread: true });
    }
    const demanded = record.demand !== null && reading.agent !== 'working' && reading.agent !== 'needs-you';
    return this.#store(table.get(record.id), {
      agent: demanded ? 'needs-you' : reading.agent,
      reason: demanded ? record.demand : (reading.reason ?? null),
      life: reading.life,
      ...(reading.since === undefined ? {} : { since: reading.since }),
    });
  }

  #store(
    record: SessionRecord,
    facts: { agent: AgentFact; reason: Reason | null; life?: LifeFact; since?: number },
  ): boolean {
    const { table, clock, events } = this.#context;
    const life = facts.life ?? record.life;
    const before = display(factsOf(record));
    const after = display({ agent: facts.agent, landing: record.landing, life });
    const sameReason = JSON.stringify(record.reason) === JSON.stringify(facts.reason);
    if (record.agent_fact === facts.agent && record.life === life && sameReason) return false;
    const now = clock.now();
    table.update(record.id, {
      agent_fact: facts.agent,
      life,
      reason: facts.reason,
      changed_at: now,
      ...(before === after && sameReason ? {} : { since: Math.round(facts.since ?? now) }),
    });
    if (before !== after || !sameReason) {
      events.add({
        kind: 'session-changed',
        session: record.id,
        state: after,
        entry: null,
        message: facts.reason === null || after !== 'needs-you' ? after : `${after}: ${facts.reason.message}`,
      });
    }
    return true;
  }

  async #deliver(record: SessionRecord, reading: SignalReading): Promise<void> {
    const { demand, lookAgainMs } = await this.#delivery.deliver(record, readinessOf(record, reading));
    if (demand !== undefined) {
      this.#context.table.update(record.id, { demand });
      this.recompute(record.id);
      this.#announce(record.id);
    }
    if (lookAgainMs !== undefined) this.#context.clock.after(lookAgainMs, () => this.#hint(record.id));
  }
}

function readinessOf(record: SessionRecord, reading: SignalReading): Readiness {
  if (!reading.started || record.life === 'sleeping') return 'busy';
  if (reading.agent === 'needs-you') return reading.takesPrompts ? 'ready' : 'blocked';
  return reading.agent === 'working' || reading.agent === 'ended' ? 'busy' : 'ready';
}
