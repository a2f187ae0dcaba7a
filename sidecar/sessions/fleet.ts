import type { Ledger } from '../cost/ledger.ts';
import { toUsd } from '../cost/money.ts';
import { openRepository } from '../git/repository.ts';
import { removeWorktree, requireSaved } from '../git/worktrees.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { Pane, WaitGoal } from '../protocol/protocol.ts';
import type { Reason } from '../protocol/reason.ts';
import type { Cost, LandingFact, Session, Turn } from '../protocol/session.ts';
import type { SessionContext } from './context.ts';
import { gitOf } from './context.ts';
import { makeWorktree, type NewSessionRequest, planSession } from './creation.ts';
import { fleetOrder } from './display.ts';
import { hasReached } from './fleet-waits.ts';
import { giveAnswer, interruptTurn, Keyboard } from './keyboard.ts';
import { launchAgent, launchShell, type PlacedSession } from './launching.ts';
import { Observation } from './observation.ts';
import type { SessionRecord } from './record.ts';
import { Serial } from './serial.ts';
import { sessionView } from './session-view.ts';
import type { TerminalHost } from './terminal-host.ts';
import { TrustGate } from './trust-gate.ts';

export interface FleetDependencies {
  context: SessionContext;
  terminals: TerminalHost;
  ledger: Ledger;
  /** Id of the session's entry in the merge queue that has not ended. */
  queueEntry(session: string): string | null;
  /** The session as it is, whenever that has changed. */
  changed(session: Session): void;
}

/** Every session: made, watched, spoken to, put away. One piece of work at a time for each session. */
export class Fleet {
  readonly #context: SessionContext;
  readonly #terminals: TerminalHost;
  readonly #ledger: Ledger;
  readonly #dependencies: FleetDependencies;
  readonly #serial = new Serial();
  readonly #observation: Observation;
  readonly #keyboard: Keyboard;
  readonly #trust: TrustGate;
  readonly #waiters = new Set<() => void>();

  constructor(dependencies: FleetDependencies) {
    const { context, terminals, ledger } = dependencies;
    this.#dependencies = dependencies;
    this.#context = context;
    this.#terminals = terminals;
    this.#ledger = ledger;
    this.#keyboard = new Keyboard(terminals);
    this.#trust = new TrustGate(context, terminals, (session) => this.#proceed(session));
    this.#observation = new Observation(context, terminals, ledger, this.#serial, (id) => this.announce(id));
  }

  /** Takes up what an earlier sidecar left: derives every state anew and finishes what was half done. */
  async start(): Promise<void> {
    await this.#observation.start();
    for (const record of this.#context.table.list({ archived: false })) {
      if (record.life === 'starting' && (record.git_dir === null || record.terminal === null)) {
        this.#continueCreation(record);
      } else {
        this.#observation.watch(record.id);
      }
    }
  }

  stop(): void {
    this.#observation.stop();
    this.#trust.stop();
    this.#terminals.close();
  }

  // ── Seen ───────────────────────────────────────────────────────────────────

  list(filter: { repo?: string | undefined; archived: boolean }): Session[] {
    return this.#context.table
      .list(filter)
      .map((record) => this.#view(record))
      .filter(({ repo }) => filter.repo === undefined || repo === filter.repo)
      .sort(fleetOrder);
  }

  show(name: string): Session {
    return this.#view(this.#context.table.resolve(name));
  }

  turns(name: string): Turn[] {
    const record = this.#context.table.resolve(name);
    const costs = this.#ledger.turnCosts(record.id).turns;
    return this.#context.table.turns(record.id).map((turn) => ({
      n: turn.n,
      prompt: turn.prompt,
      answer: turn.answer,
      outcome: turn.outcome,
      startedAt: turn.started_at,
      endedAt: turn.ended_at,
      costUsd: toUsd(costs.get(turn.n)?.nano ?? 0),
      unpriced: costs.get(turn.n)?.unpriced ?? 0,
    }));
  }

  /** Resolves when the session has got there, or with `reached: false` after the time-out. */
  async wait(
    name: string,
    goal: WaitGoal,
    timeoutMs: number | undefined,
    signal: AbortSignal,
  ): Promise<{ session: Session; reached: boolean }> {
    const { id } = this.#context.table.resolve(name);
    const reached = () => hasReached(this.show(id), goal, this.#context.table.openPrompts(id).length);
    if (!reached()) {
      await new Promise<void>((resolve, reject) => {
        const end = () => {
          this.#waiters.delete(look);
          cancelTimer?.();
          signal.removeEventListener('abort', onAbort);
        };
        const look = () => {
          if (!reached()) return;
          end();
          resolve();
        };
        const onAbort = () => {
          end();
          reject(signal.reason);
        };
        const cancelTimer =
          timeoutMs === undefined
            ? undefined
            : this.#context.clock.after(timeoutMs, () => {
                end();
                resolve();
              });
        this.#waiters.add(look);
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) onAbort();
      });
    }
    return { session: this.show(id), reached: reached() };
  }

  // ── Made ───────────────────────────────────────────────────────────────────

  /**
   * Makes branch and worktree and starts the agent. When that fails, nothing of it is left.
   * @throws FairleadError see `planSession`, `makeWorktree`, `launchAgent`
   */
  async create(
    request: NewSessionRequest,
    environment: Readonly<Record<string, string>>,
  ): Promise<{ session: Session; leftBehind: number; notes: string[] }> {
    const { table, events } = this.#context;
    const made = await this.#serial.run('plan', () => planSession(this.#context, request, environment));
    const { id } = made.record;
    try {
      const held = request.start && (await this.#trust.holds(made.record));
      if (!held) {
        const placed = await makeWorktree(this.#context, made.record, made.repository, false);
        if (request.start) await this.#launch(placed as PlacedSession);
        else table.update(id, { life: 'sleeping', agent_fact: 'idle' });
      }
    } catch (error) {
      await this.#abandon(made.record);
      throw error;
    }
    events.add({
      kind: 'session-created',
      session: id,
      state: 'starting',
      entry: null,
      message: made.record.title,
    });
    this.#observation.watch(id);
    this.announce(id);
    return { session: this.show(id), leftBehind: made.leftBehind, notes: made.notes };
  }

  /** After trust was given, or by a sidecar that came later. What fails shows on the session: nobody waits for it. */
  #continueCreation(record: SessionRecord): void {
    void this.#trust.holds(record).then((held) => (held ? undefined : this.#proceed(record.id)));
  }

  async #proceed(id: string): Promise<void> {
    const { table, log } = this.#context;
    await this.#serial.run(id, async () => {
      const record = table.find(id);
      if (record === undefined || record.life !== 'starting') return;
      try {
        table.update(id, { demand: null });
        const repository = await this.#repositoryOf(record);
        const placed = await makeWorktree(this.#context, record, repository, true);
        this.#rearmFirstPrompt(placed);
        await launchAgent(this.#context, this.#terminals, placed as PlacedSession);
      } catch (error) {
        log.warn('session not started', { session: id, error: messageOf(error) });
        this.#demand(id, {
          kind: 'landing-stopped',
          message: `It could not be started: ${messageOf(error)}`,
        });
      }
    });
    this.#observation.watch(id);
    this.announce(id);
  }

  /** A first prompt that was on its way in a terminal that never was goes along again. */
  #rearmFirstPrompt(record: SessionRecord): void {
    const { table } = this.#context;
    if (table.turnCount(record.id) > 0 || this.#terminals.terminal(record.terminal).kind === 'known') return;
    for (const prompt of table.openPrompts(record.id)) {
      if (prompt.state === 'sent') table.updatePrompt(prompt.id, { state: 'waiting', tries: 0 });
    }
  }

  async #abandon(record: SessionRecord): Promise<void> {
    const { table, log } = this.#context;
    const now = table.find(record.id);
    try {
      if (now?.terminal !== null && now?.terminal !== undefined) {
        await this.#terminals.request('kill', { id: now.terminal, signal: 'SIGKILL', graceMs: 0 });
      }
      if (now?.git_dir) {
        const repository = await this.#repositoryOf(now);
        await removeWorktree(repository, now.worktree);
        await repository.git.attempt(['branch', '-D', '--', now.branch]);
      }
    } catch (error) {
      log.warn('session not cleared away', { session: record.id, error: messageOf(error) });
    }
    table.remove(record.id);
  }

  // ── Spoken to ──────────────────────────────────────────────────────────────

  /**
   * Brings a prompt to the agent, starting it again when it sleeps; waits until it arrived, unless a turn runs.
   * @throws FairleadError `session.archived`, `agent.missing`, `worktree.broken`
   */
  async send(
    name: string,
    text: string,
    signal: AbortSignal,
  ): Promise<{ session: Session; confirmed: boolean }> {
    const { table, clock, ids } = this.#context;
    const record = this.#living(name);
    const prompt = ids.uuid();
    table.transaction(() => {
      table.addPrompt({
        id: prompt,
        session: record.id,
        text,
        state: 'waiting',
        via: 'paste',
        tries: 0,
        created_at: clock.now(),
        sent_at: null,
        confirmed_at: null,
      });
      table.update(record.id, { demand: null, unread: false });
    });
    if (record.life === 'sleeping') await this.resume(record.id);
    await this.#observation.look(record.id);
    await this.#settled(prompt, record.id, signal);
    const confirmed = table.prompt(prompt)?.state === 'confirmed';
    return { session: this.show(record.id), confirmed };
  }

  /** Waits while the prompt is on its way; not for the end of a turn that runs, nor for a person. */
  async #settled(prompt: string, session: string, signal: AbortSignal): Promise<void> {
    const { table } = this.#context;
    while (!signal.aborted) {
      const state = table.prompt(prompt)?.state;
      if (state === 'confirmed' || state === 'failed' || state === undefined) return;
      const { agent_fact, life } = table.get(session);
      if (
        state === 'waiting' &&
        life === 'active' &&
        (agent_fact === 'working' || agent_fact === 'needs-you')
      )
        return;
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#waiters.delete(done);
          cancel();
          resolve();
        };
        const cancel = this.#context.clock.after(1_000, done);
        this.#waiters.add(done);
      });
    }
  }

  /**
   * Answers what the agent asks.
   * @throws FairleadError `answer.nothing-to-answer`, `session.archived`
   */
  async answer(name: string, answer: string): Promise<Session> {
    const record = this.#living(name);
    if (record.demand?.kind === 'trust') {
      await this.#trust.answer(record, answer);
    } else {
      await this.#serial.run(`answer ${record.id}`, () =>
        giveAnswer(this.#keyboard, this.#context.table.get(record.id), answer),
      );
      await this.#leavesState(record.id, 'needs-you');
    }
    return this.show(record.id);
  }

  /** Interrupts the turn that runs; no turn is no error. */
  async interrupt(name: string): Promise<Session> {
    const record = this.#running(name);
    await interruptTurn(this.#keyboard, record.terminal);
    await this.#leavesState(record.id, 'working');
    return this.show(record.id);
  }

  /** Gives the signals of the agent a moment, so that what is answered is the state after. */
  async #leavesState(id: string, state: Session['state']): Promise<void> {
    for (let waited = 0; waited < 5_000; waited += 100) {
      await this.#observation.look(id);
      if (this.show(id).state !== state) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  rename(name: string, title: string): Session {
    const record = this.#context.table.resolve(name);
    this.#context.table.update(record.id, { title });
    this.announce(record.id);
    return this.show(record.id);
  }

  markRead(name: string): Session {
    const record = this.#context.table.resolve(name);
    if (record.unread) {
      this.#context.table.update(record.id, { unread: false });
      this.announce(record.id);
    }
    return this.show(record.id);
  }

  /**
   * A ticket for the byte stream of a terminal. Starts the agent again when it sleeps, and a shell when there is none.
   * @throws FairleadError `session.archived`, `terminal.gone`
   */
  async attach(name: string, pane: Pane): Promise<{ ticket: string; terminal: string }> {
    const record = this.#living(name);
    const terminal = pane === 'shell' ? await this.#shellOf(record) : await this.#agentTerminalOf(record);
    const { ticket } = await this.#terminals.request('ticket', { id: terminal });
    if (pane === 'agent') this.markRead(record.id);
    return { ticket, terminal };
  }

  async #agentTerminalOf(record: SessionRecord): Promise<string> {
    const asking = this.#trust.terminalFor(record);
    if (asking !== undefined) return asking;
    if (this.#terminals.terminal(record.terminal).kind !== 'known') await this.resume(record.id);
    const { terminal } = this.#context.table.get(record.id);
    if (terminal === null) throw notRunning(record.id);
    return terminal;
  }

  async #shellOf(record: SessionRecord): Promise<string> {
    const known = this.#terminals.terminal(record.shell);
    if (record.shell !== null && known.kind === 'known' && known.info.exited === undefined)
      return record.shell;
    if (record.git_dir === null) throw notRunning(record.id);
    const shell = this.#context.ids.uuid();
    this.#context.table.update(record.id, { shell });
    await launchShell(this.#context, this.#terminals, record as PlacedSession, shell);
    return shell;
  }

  // ── Put away ───────────────────────────────────────────────────────────────

  /** Starts the agent again with its conversation. One that runs is left alone. */
  async resume(name: string): Promise<Session> {
    const { table } = this.#context;
    const { id } = this.#living(name);
    await this.#serial.run(id, async () => {
      const record = table.get(id);
      const known = this.#terminals.terminal(record.terminal);
      if (known.kind === 'known' && known.info.exited === undefined) return;
      if (record.git_dir === null) throw notRunning(id);
      if (known.kind === 'known') await this.#terminals.request('forget', { id: known.info.id });
      table.update(id, { life: 'starting', terminal: null, demand: null, reason: null, agent_fact: 'idle' });
      await launchAgent(this.#context, this.#terminals, record as PlacedSession);
    });
    this.#observation.watch(id);
    this.announce(id);
    return this.show(id);
  }

  /** Ends the agent and what it started; branch, worktree and conversation stay. */
  async stopSession(name: string): Promise<Session> {
    const { id } = this.#living(name);
    await this.#sleep(id, { outcome: 'interrupted' });
    return this.show(id);
  }

  async #sleep(id: string, end: { outcome: 'done' | 'interrupted' }): Promise<void> {
    const { table } = this.#context;
    await this.#observation.look(id);
    await this.#serial.run(id, async () => {
      const record = table.get(id);
      const terminals = [record.terminal, record.shell].filter((each) => each !== null);
      this.#observation.endTurn(record, end.outcome);
      table.update(id, { life: 'sleeping', terminal: null, shell: null, ...restingFacts(record) });
      for (const terminal of terminals) await this.#endTerminal(terminal);
    });
    this.announce(id);
  }

  async #endTerminal(id: string): Promise<void> {
    if (this.#terminals.terminal(id).kind !== 'known') return;
    await this.#terminals.request('kill', { id });
    for (let waited = 0; waited < 10_000; waited += 50) {
      const known = this.#terminals.terminal(id);
      if (known.kind !== 'known' || known.info.exited !== undefined) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await this.#terminals.request('forget', { id });
  }

  /**
   * Removes the worktree of a session; branch and conversation stay.
   * @throws FairleadError `archive.unsaved` naming what is not saved, `land.already-queued`, `worktree.failed`
   */
  async archive(name: string): Promise<Session> {
    const { table, events, clock } = this.#context;
    const record = table.resolve(name);
    if (record.life === 'archived') return this.#view(record);
    if (this.#dependencies.queueEntry(record.id) !== null) {
      throw new FairleadError('land.already-queued', `${record.id} is in the merge queue.`, {
        hint: `Wait until it has landed, or take it out: fairlead unqueue ${record.id}`,
      });
    }
    const repository = await this.#repositoryOf(record);
    if (record.git_dir !== null) {
      if (this.isInTurn(record.id)) {
        throw new FairleadError('archive.unsaved', `The agent of ${record.id} is in a turn.`, {
          hint: `Wait for its end, or end it: fairlead stop ${record.id}`,
        });
      }
      // Refused before the agent is ended: what cannot be archived stays as it is.
      await requireSaved(repository, record.worktree);
      await this.#sleep(record.id, { outcome: 'done' });
      await removeWorktree(repository, record.worktree);
    }
    this.#observation.unwatch(record.id);
    this.#trust.forget(record.id);
    table.update(record.id, {
      life: 'archived',
      archived_at: clock.now(),
      demand: null,
      reason: null,
      since: clock.now(),
    });
    events.add({
      kind: 'session-archived',
      session: record.id,
      state: 'archived',
      entry: null,
      message: record.title,
    });
    this.announce(record.id);
    return this.show(record.id);
  }

  // ── For the queue ──────────────────────────────────────────────────────────

  /** Whether the agent works, asks, or has a prompt on its way. */
  isInTurn(id: string): boolean {
    const record = this.#context.table.get(id);
    if (record.life === 'sleeping' || record.life === 'archived') return false;
    const inTurn =
      record.agent_fact === 'working' || (record.agent_fact === 'needs-you' && record.demand === null);
    return inTurn || record.life === 'starting' || this.#context.table.openPrompts(id).length > 0;
  }

  setLanding(id: string, landing: LandingFact, demand: Reason | null): void {
    const { table, clock } = this.#context;
    const record = table.get(id);
    const since = record.landing === landing ? record.since : clock.now();
    table.update(id, { landing, since });
    if (demand === null) this.#withdrawDemand(record);
    else this.#demand(id, demand);
    this.announce(id);
  }

  /** Landed work needs no agent; it sleeps until it is prompted again. */
  async rest(id: string): Promise<void> {
    if (!this.isInTurn(id) && this.#context.table.get(id).life === 'active') {
      await this.#sleep(id, { outcome: 'done' });
    }
  }

  environment(record: SessionRecord): Record<string, string> {
    return this.#context.table.environment(record.environment);
  }

  #demand(id: string, demand: Reason): void {
    const { table } = this.#context;
    table.update(id, { demand });
    this.#observation.recompute(id);
  }

  /** Withdraws what the queue asked for; what the agent's side asked for stays. */
  #withdrawDemand(record: SessionRecord): void {
    if (
      record.demand === null ||
      record.demand.kind === 'trust' ||
      record.demand.kind === 'prompt-undelivered'
    )
      return;
    this.#context.table.update(record.id, { demand: null });
    this.#observation.recompute(record.id);
  }

  isAnyInTurn(): boolean {
    return this.#context.table.list({ archived: false }).some(({ id }) => this.isInTurn(id));
  }

  /** Whose terminal it is, and which. */
  ownerOf(terminal: string): { session: string; pane: Pane } | undefined {
    for (const record of this.#context.table.list({ archived: false })) {
      if (record.terminal === terminal) return { session: record.id, pane: 'agent' };
      if (record.shell === terminal) return { session: record.id, pane: 'shell' };
    }
    return undefined;
  }

  /** Ends every agent and shell. */
  async stopAll(): Promise<void> {
    const running = this.#context.table
      .list({ archived: false })
      .filter(({ terminal, shell }) => terminal !== null || shell !== null);
    await Promise.all(running.map(({ id }) => this.#sleep(id, { outcome: 'interrupted' })));
  }

  // ── Within ─────────────────────────────────────────────────────────────────

  /** Tells everybody how the session is. */
  announce(id: string): void {
    const record = this.#context.table.find(id);
    if (record === undefined) return;
    for (const look of [...this.#waiters]) look();
    this.#dependencies.changed(this.#view(record));
  }

  cost(id: string): Cost {
    return this.#ledger.sessionCost(id);
  }

  async #launch(placed: PlacedSession): Promise<void> {
    await this.#serial.run(placed.id, () => launchAgent(this.#context, this.#terminals, placed));
  }

  #repositoryOf(record: SessionRecord) {
    const { table } = this.#context;
    const { main } = table.repository(record.repository);
    return openRepository(main, gitOf(this.#context, table.environment(record.environment), main));
  }

  #view(record: SessionRecord): Session {
    const { table } = this.#context;
    return sessionView(record, {
      repo: table.repository(record.repository).main,
      turns: table.turnCount(record.id),
      cost: this.#ledger.sessionCost(record.id),
      queue: this.#dependencies.queueEntry(record.id),
    });
  }

  /** @throws FairleadError `session.archived` */
  #living(name: string): SessionRecord {
    const record = this.#context.table.resolve(name);
    if (record.life !== 'archived') return record;
    throw new FairleadError('session.archived', `${record.id} is archived.`, {
      hint: `Its work is on the branch ${record.branch}; start a session from it: fairlead new --base ${record.branch}`,
    });
  }

  /** @throws FairleadError `session.archived`, `session.not-running` */
  #running(name: string): SessionRecord & { terminal: string } {
    const record = this.#living(name);
    const { terminal } = record;
    if (terminal === null || this.#terminals.terminal(terminal).kind !== 'known') throw notRunning(record.id);
    return { ...record, terminal };
  }
}

/** What is left of the facts when the agent is ended on purpose: nothing works, nothing asks. */
function restingFacts(record: SessionRecord): Partial<SessionRecord> {
  const finished = record.agent_fact === 'working' || record.agent_fact === 'needs-you';
  return { agent_fact: finished ? 'ended' : record.agent_fact, reason: null };
}

function notRunning(id: string): FairleadError {
  return new FairleadError('session.not-running', `The agent of ${id} does not run.`, {
    hint: `Start it: fairlead resume ${id}`,
  });
}
