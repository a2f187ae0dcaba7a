import type { Ledger } from '../cost/ledger.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { Pane, WaitGoal } from '../protocol/protocol.ts';
import type { Reason } from '../protocol/reason.ts';
import type { DisplayState, LandingFact, Session, Turn } from '../protocol/session.ts';
import type { SessionContext } from './context.ts';
import { Dialogue } from './dialogue.ts';
import { display } from './display.ts';
import { Ender } from './ender.ts';
import { type FleetListeners, FleetView } from './fleet-view.ts';
import { hasReached } from './fleet-waits.ts';
import { IdleSleep } from './idle-sleep.ts';
import { titleFrom } from './naming.ts';
import { isSame } from './need.ts';
import { Observation } from './observation.ts';
import type { NewSessionRequest } from './plan.ts';
import { type Report, UNHEARD } from './progress.ts';
import type { SessionRecord } from './record.ts';
import { Serial } from './serial.ts';
import { factsOf } from './session-view.ts';
import { type FleetParts, type StartEnd, Starter } from './starter.ts';
import type { TerminalHost } from './terminal-host.ts';

/** Demands that only their own side withdraws: the question of trust, and a prompt that is still to be given. */
const NOT_OF_LANDING: readonly Reason['kind'][] = [
  'trust',
  'prompt-undelivered',
  'start-failed',
  'worktree-missing',
];

/** Demands without whose answer no agent starts. */
const NOT_STARTING: readonly Reason['kind'][] = ['trust', 'start-failed'];

/** Every session: made, seen, spoken to, put away. */
export class Fleet {
  readonly #parts: FleetParts;
  readonly #starter: Starter;
  readonly #ender: Ender;
  readonly #dialogue: Dialogue;
  readonly #idleSleep: IdleSleep;

  constructor(context: SessionContext, terminals: TerminalHost, ledger: Ledger, listeners: FleetListeners) {
    const view = new FleetView(context, ledger, listeners);
    const serial = new Serial();
    const observation = new Observation(context, terminals, ledger, serial, (id) => view.announce(id));
    this.#parts = { context, terminals, observation, view, serial };
    this.#starter = new Starter(this.#parts);
    this.#ender = new Ender(this.#parts, this.#starter);
    this.#dialogue = new Dialogue(this.#parts, this.#starter);
    this.#idleSleep = new IdleSleep(this.#parts, this.#ender, (id) => this.isInTurn(id));
  }

  /**
   * Takes up what an earlier sidecar left: derives every state anew and finishes what was half done.
   * @returns what resolves when it is known how every session is; until then its stored state is shown
   */
  async start(): Promise<{ known: Promise<void> }> {
    const { context, observation, terminals } = this.#parts;
    await observation.start();
    this.#ender.takeUp();
    this.#idleSleep.start();
    const looks: Promise<void>[] = [];
    for (const record of context.table.list({ archived: false })) {
      const runs = terminals.terminal(record.terminal).kind === 'known';
      const halfMade = record.life === 'starting' && (record.git_dir === null || !runs);
      if (halfMade) this.#starter.continue(record);
      else looks.push(observation.takeUp(record.id));
    }
    return { known: Promise.all(looks).then(() => {}) };
  }

  stop(): void {
    this.#idleSleep.stop();
    this.#parts.observation.stop();
    this.#starter.trust.stop();
    this.#parts.terminals.close();
  }

  // ── Seen ───────────────────────────────────────────────────────────────────

  list(filter: { repo?: string | undefined; archived: boolean }): Session[] {
    return this.#parts.view.list(filter);
  }

  show(name: string): Session {
    return this.#parts.view.show(name);
  }

  /** What the person is needed for, in full. @throws FairleadError `session.missing`, `session.ambiguous` */
  need(name: string): { need: number | null; reason: Reason | null } {
    const { observation, view } = this.#parts;
    const { id, need, reason } = view.show(name);
    return {
      need,
      reason: reason?.truncated ? observation.asked(this.#parts.context.table.get(id)) : reason,
    };
  }

  /** Prompts that are kept for the agent and that it has not got, oldest first. */
  unsentPrompts(name: string): string[] {
    const { table } = this.#parts.context;
    const open = table.openPrompts(table.resolve(name).id);
    return open.filter(({ state }) => state === 'waiting').map(({ text }) => text);
  }

  turns(name: string): Turn[] {
    return this.#parts.view.turns(name);
  }

  announce(id: string): void {
    this.#parts.view.announce(id);
  }

  /**
   * Resolves when the session has got there, or with `reached: false` after the time-out.
   * @throws FairleadError `session.missing`, `session.ambiguous`, `land.not-landed`
   */
  async wait(
    name: string,
    goal: WaitGoal,
    timeoutMs: number | undefined,
    signal: AbortSignal,
  ): Promise<{ session: Session; reached: boolean }> {
    const { context, view } = this.#parts;
    const { id } = context.table.resolve(name);
    const reached = await view.until(
      () =>
        hasReached(view.show(id), goal, {
          pending: context.table.openPrompts(id).length,
          lastLanding: view.lastLanding(id),
        }),
      { timeoutMs, signal },
    );
    return { session: view.show(id), reached };
  }

  /** Whose terminals there are, by their ids. */
  terminalOwners(): Map<string, { session: string; pane: Pane }> {
    return this.#parts.context.table.terminalOwners();
  }

  /** How many sessions are in each state, archived ones too. */
  countStates(): Partial<Record<DisplayState, number>> {
    return this.#parts.view.countStates();
  }

  // ── Made and put away ──────────────────────────────────────────────────────

  /** @throws FairleadError see `Starter.create` */
  async create(
    request: NewSessionRequest,
    environment: Readonly<Record<string, string>>,
    until: StartEnd,
    report: Report = UNHEARD,
  ): Promise<{ session: Session; attempts: Session[]; leftBehind: number; notes: string[] }> {
    const { records, leftBehind, notes } = await this.#starter.create(request, environment, until, report);
    const [session, ...others] = records.map(({ id }) => this.show(id));
    if (session === undefined) throw new FairleadError('internal', 'A plan without a session.');
    return { session, attempts: [session, ...others], leftBehind, notes };
  }

  async resume(name: string): Promise<Session> {
    await this.#starter.resume(name);
    return this.show(name);
  }

  async stopSession(name: string): Promise<Session> {
    const { id } = this.#parts.view.living(name);
    await this.#ender.sleep(id, 'interrupted');
    return this.show(id);
  }

  /** See `Ender.orphans`. */
  get orphans(): ReadonlySet<string> {
    return this.#ender.orphans;
  }

  stopAll(): Promise<void> {
    return this.#ender.stopAll();
  }

  /** See `Ender.archive`. */
  async archive(name: string, report: Report = UNHEARD, revoked?: AbortSignal): Promise<Session> {
    const { id, life } = this.#parts.context.table.resolve(name);
    if (life !== 'archived') {
      await this.#ender.archive(
        id,
        () => ({ queued: this.show(id).queue !== null, inTurn: this.isInTurn(id) }),
        report,
        revoked,
      );
    }
    return this.show(id);
  }

  /** @throws FairleadError `params.invalid` (nothing of the title can be seen), `session.missing` */
  rename(name: string, text: string): Session {
    const title = titleFrom(text);
    if (title === undefined) {
      throw new FairleadError('params.invalid', 'Nothing of this title can be seen.', {
        hint: 'Give a title of letters, digits or other visible characters.',
      });
    }
    return this.#change(name, { title });
  }

  markRead(name: string): Session {
    return this.#change(name, { unread: false });
  }

  #change(name: string, patch: Partial<Pick<SessionRecord, 'title' | 'unread'>>): Session {
    const { id } = this.#parts.context.table.resolve(name);
    this.#parts.context.table.update(id, patch);
    this.announce(id);
    return this.show(id);
  }

  // ── Spoken to ──────────────────────────────────────────────────────────────

  async send(
    name: string,
    text: string,
    until: StartEnd,
    requestId?: string,
  ): Promise<{ session: Session; confirmed: boolean }> {
    const { id } = this.#parts.view.living(name);
    const confirmed = await this.#dialogue.send(id, text, until, requestId);
    return { session: this.show(id), confirmed };
  }

  async answer(name: string, answer: string, need: number | undefined): Promise<Session> {
    await this.#dialogue.answer(name, answer, need);
    return this.show(name);
  }

  async interrupt(name: string): Promise<Session> {
    await this.#dialogue.interrupt(name);
    return this.show(name);
  }

  async attach(name: string, pane: Pane): Promise<{ ticket: string; terminal: string }> {
    this.#idleSleep.attended(this.#parts.view.living(name).id);
    const ticket = await this.#dialogue.attach(name, pane);
    this.#idleSleep.attended(this.#parts.view.living(name).id);
    if (pane === 'agent') this.markRead(name);
    return ticket;
  }

  // ── For the queue ──────────────────────────────────────────────────────────

  /** Whether the agent works, asks, or has a prompt on its way: its worktree is not to be touched. */
  isInTurn(id: string): boolean {
    const { context, observation, terminals } = this.#parts;
    const { table } = context;
    const { life, agent_fact, reason, demand, terminal } = table.get(id);
    if (life === 'archived') return false;
    if (!observation.isKnown(id)) return true;
    if (life === 'sleeping') {
      // One that is being put to sleep works until it has ended.
      const known = terminals.terminal(terminal);
      return known.kind === 'known' && known.info.exited === undefined;
    }
    // One that cannot start without the person has no agent yet.
    if (life === 'starting') return demand === null || !NOT_STARTING.includes(demand.kind);
    const inTurn = agent_fact === 'working' || (agent_fact === 'needs-you' && !isSame(reason, demand));
    return inTurn || table.openPrompts(id).length > 0;
  }

  /**
   * @throws FairleadError `land.nothing-to-land`: the session has no worktree yet, for what the person has to do first;
   * `session.missing`, `session.ambiguous`
   */
  requireWork(name: string): void {
    const { id, git_dir, demand } = this.#parts.context.table.resolve(name);
    if (git_dir !== null || demand === null) return;
    const waits =
      demand.kind === 'trust' ? 'it waits for your word on trust before it starts' : demand.message;
    throw new FairleadError('land.nothing-to-land', `${id} has no work yet: ${waits.replace(/\.$/, '')}.`, {
      hint: `See what it needs: fairlead show ${id}`,
    });
  }

  isAnyInTurn(): boolean {
    return this.#parts.context.table.list({ archived: false }).some(({ id }) => this.isInTurn(id));
  }

  /** Moves the session on the landing axis, with what the person is needed for, if anything. */
  setLanding(id: string, landing: LandingFact, demand: Reason | null): void {
    const { context, observation, view } = this.#parts;
    const record = context.table.get(id);
    const keep = demand === null && record.demand !== null && NOT_OF_LANDING.includes(record.demand.kind);
    const facts = factsOf(record);
    const isSeen = display(facts) !== display({ ...facts, landing });
    context.table.update(id, {
      landing,
      // What people see began when it began, however often it is tried again behind it.
      since: isSeen ? context.clock.now() : record.since,
      demand: keep ? record.demand : demand,
    });
    observation.recompute(id, record.demand);
    view.announce(id);
  }

  /** Landed work needs no agent: it sleeps until it is prompted again. One that works or is looked at goes on. */
  async rest(id: string): Promise<void> {
    await this.#idleSleep.whenAlone(id);
  }
}
