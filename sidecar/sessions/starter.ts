import { openKnownRepository, type Repository } from '../git/repository.ts';
import { isClean, readStatus } from '../git/status.ts';
import { registrationOf } from '../git/worktree-registration.ts';
import { discardWorktree, isBranchLeft } from '../git/worktrees.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { Reason } from '../protocol/reason.ts';
import { gitOf, type SessionContext } from './context.ts';
import type { FleetView } from './fleet-view.ts';
import { launchAgent, type PlacedSession } from './launching.ts';
import type { Observation } from './observation.ts';
import { type NewSessionRequest, planSession, type SessionPlan, uncommittedIn } from './plan.ts';
import { type Report, reportsOf } from './progress.ts';
import type { SessionRecord } from './record.ts';
import type { Serial } from './serial.ts';
import type { TerminalHost } from './terminal-host.ts';
import { TrustGate } from './trust-gate.ts';
import { keepUnsentPrompts } from './unsent.ts';
import { makeWorktree } from './worktree-making.ts';
import { leavePlace } from './worktree-place.ts';

/** What is reported of one session: its worktree, its files, its agent. */
const STEPS = 3;
/** How far it is, in percent, when the base is known. */
const AFTER_BASE = 25;

export interface FleetParts {
  context: SessionContext;
  terminals: TerminalHost;
  observation: Observation;
  view: FleetView;
  /** One piece of work at a time for each session. */
  serial: Serial;
}

/** How soon a start is taken up again for which the ptyhost did not answer, in milliseconds. */
const AGAIN_MS = 2_000;

/** Demands that are over once an agent runs again. */
const OF_AGENT_GONE: readonly Reason['kind'][] = ['start-failed', 'agent-ended'];

/** What ends the start of sessions, or the sending of a prompt, before it is done. */
export interface StartEnd {
  /** Aborts when nobody waits for the answer any more. Ends only what is stored nowhere yet. */
  signal: AbortSignal;
  /** Aborts with `cancelled` when the person wants it no longer; with anything else when this sidecar ends. */
  revoked: AbortSignal;
}

/** What `Starter.create` has made. */
type Made = Pick<SessionPlan, 'records' | 'leftBehind' | 'notes'>;

/** Starts sessions: from a prompt, from what a crash left, from their sleep. */
export class Starter {
  readonly trust: TrustGate;
  readonly #parts: FleetParts;

  constructor(parts: FleetParts) {
    this.#parts = parts;
    this.trust = new TrustGate(parts.context, parts.terminals, (session) => this.#proceed(session));
  }

  /**
   * Makes branch and worktree and starts the agent, once for each attempt. Of an attempt that fails nothing is left;
   * the others go on, and `notes` tells of it. When the person cancels, nothing is left of those in which nobody has
   * worked yet; when this sidecar ends, the next one goes on with all of them.
   * @throws FairleadError see `planSession`, `makeWorktree`, `launchAgent`: no attempt could be started
   */
  async create(
    request: NewSessionRequest,
    environment: Readonly<Record<string, string>>,
    until: StartEnd,
    report: Report,
  ): Promise<Made> {
    const { requestId } = request;
    if (requestId === undefined) return this.#createNow(request, environment, until, report);
    return this.#parts.serial.run(`request ${requestId}`, async () => {
      const before = await this.#madeBefore(requestId, until.signal);
      return before ?? this.#createNow(request, environment, until, report);
    });
  }

  /** What an earlier sidecar has made, or was about to make, for the same request; once it is made. */
  async #madeBefore(requestId: string, signal: AbortSignal): Promise<Made | undefined> {
    const { context, view } = this.#parts;
    const made = () => context.table.madeBy(requestId);
    if (made().length === 0) return undefined;
    await view.until(() => made().every((record) => !isHalfMade(record)), { signal });
    const records = made();
    const [first] = records;
    if (first === undefined) return undefined;
    const leftBehind = first.bring_changes ? 0 : await uncommittedIn(await this.repositoryOf(first));
    return { records, leftBehind, notes: [] };
  }

  async #createNow(
    request: NewSessionRequest,
    environment: Readonly<Record<string, string>>,
    { signal, revoked }: StartEnd,
    report: Report,
  ): Promise<Made> {
    const { context, serial } = this.#parts;
    const plan = await planSession(context, request, environment, serial, signal, report);
    context.step?.('session-planned');
    const reports = reportsOf(report, plan.records.length, STEPS, AFTER_BASE);
    const made = await Promise.allSettled(
      plan.records.map((record, index) =>
        this.#make(record, plan.repository, revoked, reports[index] ?? report),
      ),
    );
    if (revoked.aborted) {
      if (isCancelled(revoked)) {
        await Promise.all(
          plan.records.map((record, at) => made[at]?.status === 'fulfilled' && this.#takeBack(record)),
        );
        refuseLeft(plan.records.filter(({ id }) => context.table.find(id) !== undefined));
      }
      throw revoked.reason;
    }
    const failures: unknown[] = [];
    for (const [index, outcome] of made.entries()) {
      if (outcome.status === 'fulfilled') continue;
      failures.push(outcome.reason);
      plan.notes.push(`Attempt ${index + 1} could not be started: ${messageOf(outcome.reason)}`);
    }
    if (failures.length === plan.records.length) throw failures[0];
    return { ...plan, records: plan.records.filter((_, index) => made[index]?.status === 'fulfilled') };
  }

  async #make(
    record: SessionRecord,
    repository: Repository,
    revoked: AbortSignal,
    report: Report,
  ): Promise<void> {
    const { context, observation, view, serial } = this.#parts;
    const { id, title, starts } = record;
    // Nobody ends or archives what is half made.
    await serial.run(id, async () => {
      try {
        revoked.throwIfAborted();
        if (starts && (await this.trust.holds(record))) return revoked.throwIfAborted();
        const placed = requirePlace(
          await makeWorktree(context, record, repository, { signal: revoked, report }),
        );
        revoked.throwIfAborted();
        if (starts) {
          report('Starting the agent');
          await this.#launch(placed);
        } else this.#leaveAsleep(id);
      } catch (error) {
        // Of a sidecar that ends everything stays: the next one goes on with what is stored.
        if (!revoked.aborted || isCancelled(revoked)) await this.#abandon(record, error);
        throw error;
      }
    });
    context.events.add({
      kind: 'session-created',
      session: id,
      state: 'starting',
      entry: null,
      message: title,
    });
    observation.watch(id);
    observation.recompute(id);
    view.announce(id);
  }

  /** Goes on with a session that an earlier sidecar did not finish making. Nobody waits for it. */
  continue(record: SessionRecord): void {
    const { terminals } = this.#parts;
    // What an earlier sidecar started is found again only where it runs.
    void (record.starts ? terminals.open() : Promise.resolve())
      .then(() => this.#holdOrProceed(record))
      .catch((error: unknown) => {
        const { id } = record;
        if (!isNotAnswering(error)) return this.#notStarted(id, error);
        // Its agent may run there. What is known of it meanwhile is told by a look.
        const { context, observation } = this.#parts;
        observation.watch(id);
        context.clock.after(AGAIN_MS, () => {
          const now = context.table.find(id);
          if (now?.life === 'starting') this.continue(now);
        });
      });
  }

  /**
   * Starts the agent again with its conversation. One that runs is left alone.
   * @throws FairleadError `session.archived`, `session.not-running` (it has no worktree), `worktree.broken`,
   * `agent.missing`
   */
  async resume(name: string): Promise<void> {
    const { context, terminals, observation, view, serial } = this.#parts;
    const { id, life, git_dir } = view.living(name);
    if (git_dir === null && life === 'sleeping') {
      context.table.update(id, { life: 'starting', starts: true, demand: null });
      return this.#holdOrProceed(context.table.get(id));
    }
    await serial.run(id, async () => {
      const record = requirePlace(view.living(id));
      // While no ptyhost has answered, nobody knows whether the agent runs.
      await terminals.open();
      const known = terminals.terminal(record.terminal);
      if (known.kind === 'known' && known.info.exited === undefined) return;
      if (known.kind === 'known') await terminals.forget(known.info.id);
      await observation.takeIn(id);
      this.#keepUnsent(record);
      context.table.update(id, {
        life: 'starting',
        starts: true,
        terminal: null,
        // What else the person is needed for is not answered by an agent that runs.
        ...(record.demand !== null && OF_AGENT_GONE.includes(record.demand.kind) ? { demand: null } : {}),
        reason: null,
        agent_fact: 'idle',
      });
      try {
        await this.#launch({ ...record, life: 'starting', terminal: null });
      } catch (error) {
        // It is as it was: whoever asked for it gets the error. A terminal that may have come to be all the same stays
        // its own.
        const { life, demand, reason, agent_fact } = record;
        context.table.update(id, { life, demand, reason, agent_fact });
        throw error;
      }
      observation.recompute(id);
    });
    observation.watch(id);
    view.announce(id);
  }

  async #holdOrProceed(record: SessionRecord): Promise<void> {
    const { context, observation, view, serial } = this.#parts;
    const { id } = record;
    const goesOn = await serial.run(id, async () => {
      const now = context.table.get(id);
      return now.life === 'starting' && !(now.starts && (await this.trust.holds(now)));
    });
    if (goesOn) return this.#proceed(id);
    observation.recompute(id);
    view.announce(id);
  }

  async repositoryOf(record: SessionRecord): Promise<Repository> {
    const { context } = this.#parts;
    const known = context.table.repository(record.repository);
    const git = gitOf(context, context.table.environment(record.environment), known.main);
    return openKnownRepository(known, git);
  }

  async #proceed(id: string): Promise<void> {
    const { context, observation, view, serial } = this.#parts;
    await serial.run(id, async () => {
      const record = context.table.find(id);
      if (record === undefined || record.life !== 'starting') return;
      try {
        context.table.update(id, { demand: null });
        observation.recompute(id);
        const placed = requirePlace(
          await makeWorktree(context, record, await this.repositoryOf(record), { again: true }),
        );
        if (!record.starts) return this.#leaveAsleep(id);
        // An agent of before may have got its prompt, and be gone.
        await observation.takeIn(id);
        this.#keepUnsent(placed);
        await this.#launch(placed);
      } catch (error) {
        this.#notStarted(id, error);
      }
    });
    observation.watch(id);
    view.announce(id);
  }

  /** Its worktree is made, and nobody has asked for its agent. */
  #leaveAsleep(id: string): void {
    this.#parts.context.table.update(id, { life: 'sleeping', agent_fact: 'idle' });
  }

  async #launch(placed: PlacedSession): Promise<void> {
    await launchAgent(this.#parts.context, this.#parts.terminals, placed);
  }

  /** Nobody waits for the answer: it shows on the session. */
  #notStarted(id: string, error: unknown): void {
    const { context, observation, view } = this.#parts;
    context.log.warn('session not started', { session: id, error: messageOf(error) });
    const demand: Reason = { kind: 'start-failed', message: `It could not be started: ${messageOf(error)}` };
    // It starts no longer: nobody is to wait for that, and it is tried again when somebody says so.
    context.table.update(id, { life: 'sleeping', demand, archived_at: null });
    observation.recompute(id);
    view.announce(id);
  }

  /** What was on its way in a terminal that never was, or is no longer, goes along. */
  #keepUnsent({ id, terminal }: SessionRecord): void {
    const { context, terminals } = this.#parts;
    const known = terminals.terminal(terminal);
    if (known.kind === 'known' && known.info.exited === undefined) return;
    keepUnsentPrompts(context.table, id, context.clock.now());
  }

  /** Takes back a session that clients have seen already, unless somebody has worked in it. */
  async #takeBack(record: SessionRecord): Promise<void> {
    const { context, observation, view, serial } = this.#parts;
    await observation.look(record.id);
    await serial.run(record.id, async () => {
      if (await this.#hasWork(record.id)) return;
      observation.unwatch(record.id);
      context.table.update(record.id, { life: 'archived', archived_at: context.clock.now() });
      view.announce(record.id);
      await this.#abandon(record);
    });
  }

  /** Whether a session holds what nobody is to lose. Where that cannot be told it may. */
  async #hasWork(id: string): Promise<boolean> {
    const { context } = this.#parts;
    const record = context.table.find(id);
    if (record === undefined || record.life === 'archived' || record.landing !== 'none') return true;
    if (context.table.turnCount(id) > 0) return true;
    if (record.git_dir === null) return false;
    try {
      const git = (await this.repositoryOf(record)).git.in(record.worktree);
      const status = await readStatus(git);
      if (status.head !== record.base_commit) return true;
      // Changes that were brought along are in the main checkout, too.
      return !record.bring_changes && !isClean(status);
    } catch (error) {
      context.log.warn('session not taken back', { session: id, error: messageOf(error) });
      return true;
    }
  }

  /**
   * Takes back a session that could not be started: whoever asked for it gets the error and nothing else. What cannot
   * be cleared away stays, with the session that knows of it. `failed`: why it was not made.
   */
  async #abandon({ id }: SessionRecord, failed?: unknown): Promise<void> {
    const { context, terminals, observation, view } = this.#parts;
    await this.trust.forget(id);
    const record = context.table.get(id);
    if (record.terminal !== null) {
      await terminals.end(record.terminal, { signal: 'SIGKILL', graceMs: 0 }).catch((error: unknown) =>
        // One that runs all the same belongs to nothing: the next start ends it.
        context.log.warn('terminal not ended', { session: id, error: messageOf(error) }),
      );
    }
    try {
      const repository = await this.repositoryOf(record);
      const { worktree: folder, branch, base_commit: commit, git_dir } = record;
      const isMade =
        git_dir !== null ||
        isBranchLeft(failed) ||
        registrationOf(repository.commonDir, folder) !== undefined;
      // Copied files and brought changes make it dirty; nobody has worked in it.
      if (isMade) await discardWorktree(repository, { folder, branch, commit });
    } catch (error) {
      observation.watch(id);
      return this.#notStarted(id, error);
    }
    context.table.remove(id);
    leavePlace(context, record.worktree);
    view.announce(id);
  }
}

/** @throws FairleadError `cancelled` that says what the person has to look at, when something of it stays */
function refuseLeft(records: readonly SessionRecord[]): void {
  if (records.length === 0) return;
  const ids = records.map(({ id }) => id).join(', ');
  throw new FairleadError('cancelled', `What was worked in stays: ${ids}.`, {
    hint: `See what is in it (fairlead show ${records[0]?.id}), then put it away: fairlead archive ${records[0]?.id}`,
  });
}

/** Whether the person who asked for it has taken it back, as opposed to a sidecar that ends. */
export function isCancelled({ reason }: AbortSignal): boolean {
  return reason instanceof FairleadError && reason.code === 'cancelled';
}

/** It is being made, and neither waits for the person nor has its agent's terminal. */
function isHalfMade({ life, demand, git_dir, terminal }: SessionRecord): boolean {
  return life === 'starting' && demand === null && (git_dir === null || terminal === null);
}

function isNotAnswering(error: unknown): boolean {
  return error instanceof FairleadError && error.code === 'daemon.not-answering';
}

/** @throws FairleadError `session.not-running` */
export function requirePlace(record: SessionRecord): PlacedSession {
  const { git_dir } = record;
  if (git_dir !== null) return { ...record, git_dir };
  throw new FairleadError('session.not-running', `${record.id} has no worktree yet.`, {
    hint: `See what it waits for: fairlead show ${record.id}`,
  });
}
