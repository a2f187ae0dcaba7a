import { existsSync } from 'node:fs';
import { isRepositoryThere } from '../git/repository.ts';
import { requireSaved } from '../git/unsaved-work.ts';
import { removeWorktree } from '../git/worktrees.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import { isOfLanding } from '../protocol/landing.ts';
import { isSame } from './need.ts';
import type { Report } from './progress.ts';
import type { SessionRecord } from './record.ts';
import { takesPrompts } from './signals.ts';
import type { FleetParts, Starter } from './starter.ts';
import { keepUnsentPrompts } from './unsent.ts';
import { leavePlace } from './worktree-place.ts';

/** Ends agents: to sleep, for good, or because somebody said so. */
export class Ender {
  readonly #parts: FleetParts;
  readonly #starter: Starter;
  readonly #orphans = new Set<string>();

  constructor(parts: FleetParts, starter: Starter) {
    this.#parts = parts;
    this.#starter = starter;
  }

  /**
   * Ends the agent and what it started; branch, worktree and conversation stay. `outcome` is that of an open turn.
   * @throws FairleadError `terminal.running`, `ptyhost.lost`, `daemon.spawn-failed`: it may run still, and is seen then
   */
  async sleep(id: string, outcome: 'done' | 'interrupted'): Promise<void> {
    const { observation, view, serial } = this.#parts;
    await observation.look(id);
    await serial.run(id, async () => {
      await this.#openFor(id);
      await this.#sleepNow(id, outcome);
    });
    view.announce(id);
  }

  /**
   * Ends an agent that has nothing to do, unless somebody is at one of its terminals. `mayRest` is asked when everything
   * that was signalled is known and nothing else is done with the session. A shell beside it stays, unless `shellToo`.
   */
  async rest(
    id: string,
    mayRest: () => boolean,
    { shellToo }: { shellToo: boolean },
  ): Promise<'rests' | 'attended' | 'goes-on'> {
    const { context, observation, terminals, view, serial } = this.#parts;
    await observation.look(id);
    const rested = await serial.run(id, async () => {
      const { terminal, shell } = context.table.get(id);
      if (terminal === null && shell === null) return 'goes-on';
      // No event tells who comes and goes.
      await terminals.refresh();
      if ([terminal, shell].some((each) => terminals.isAttached(each))) return 'attended';
      // Nothing is awaited between the question and what is stored: a prompt that comes now finds it asleep.
      if (!mayRest()) return 'goes-on';
      await this.#sleepNow(id, 'done', { shellToo });
      return 'rests';
    });
    if (rested === 'rests') view.announce(id);
    return rested;
  }

  async #sleepNow(
    id: string,
    outcome: 'done' | 'interrupted',
    { shellToo } = { shellToo: true },
  ): Promise<void> {
    const { context, observation } = this.#parts;
    const record = context.table.get(id);
    if (record.life === 'archived') return;
    observation.endTurn(record, outcome);
    // Stored first: an agent that ends because of this is no news. Its terminal is its own until it has ended.
    context.table.update(id, { life: 'sleeping', ...restingFacts(context.table.get(id)) });
    context.step?.('ending-stored');
    await this.#endTerminals(shellToo ? record : { ...record, shell: null });
  }

  /**
   * Ends what an earlier sidecar had begun to end, and terminals that belong to nothing: no agent works on for nobody.
   * Nothing is awaited; what looks at a session comes after its ending. A ptyhost that is slow to answer tells later what
   * there is to end.
   */
  takeUp(): void {
    this.#parts.terminals.onceReached(() => this.#takeUpNow());
  }

  #takeUpNow(): void {
    const { context, terminals, serial } = this.#parts;
    const sessions = context.table.list({ archived: false });
    const failed = (terminal: string) => (error: unknown) =>
      context.log.error('terminal not ended', { terminal, error: messageOf(error) });
    for (const { id, life, terminal, reason, demand } of sessions) {
      const known = terminals.terminal(terminal);
      if (life !== 'sleeping' || terminal === null || known.kind !== 'known') continue;
      // One that ended by itself is kept with what the person is told of its end.
      if (known.info.exited !== undefined && reason !== null && !isSame(reason, demand)) continue;
      void serial
        .run(id, async () => {
          const record = context.table.get(id);
          if (record.terminal !== terminal) return;
          // A look that was on its way may have taken it for one that works.
          if (record.life !== 'sleeping') {
            context.table.update(id, { life: 'sleeping', ...restingFacts(record) });
          }
          await this.#endTerminals({ ...record, shell: null });
        })
        .catch(failed(terminal));
    }
    const owned = new Set(sessions.flatMap(({ terminal, shell }) => [terminal, shell]));
    // The question of trust stands in the main checkout, and is taken up by the sessions that wait for its answer.
    const asking = new Set(
      sessions
        .filter(({ life, git_dir }) => life === 'starting' && git_dir === null)
        .map(({ repository }) => context.table.repository(repository).main),
    );
    for (const { id, cwd, exited } of terminals.terminals) {
      if (owned.has(id) || asking.has(cwd)) continue;
      if (exited === undefined) this.#orphans.add(id);
      void terminals.end(id).catch(failed(id));
    }
  }

  /** Ids of the terminals that ran, belonged to nothing, and were ended for that since this sidecar began. */
  get orphans(): ReadonlySet<string> {
    return this.#orphans;
  }

  /** Ends every agent and shell. */
  async stopAll(): Promise<void> {
    const running = this.#parts.context.table
      .list({ archived: false })
      .filter(({ terminal, shell }) => terminal !== null || shell !== null);
    await Promise.all(running.map(({ id }) => this.sleep(id, 'interrupted')));
  }

  /**
   * Removes the worktree of a session; branch and conversation stay. Refused before anything is ended, and `revoked` until
   * then.
   * @throws FairleadError `archive.unsaved` naming what is not saved, `land.already-queued`, `worktree.failed`; the reason of
   * `revoked`, when everything is as it was
   */
  async archive(
    id: string,
    state: () => { queued: boolean; inTurn: boolean },
    report: Report,
    revoked?: AbortSignal,
  ): Promise<void> {
    const { observation, view, serial } = this.#parts;
    report('Looking for what is not saved', 0);
    await observation.look(id);
    await serial.run(id, () => this.#archiveNow(id, state, report, revoked));
    view.announce(id);
  }

  async #archiveNow(
    id: string,
    state: () => { queued: boolean; inTurn: boolean },
    report: Report,
    revoked?: AbortSignal,
  ): Promise<void> {
    const { context, observation } = this.#parts;
    // It may never have come to be, or have been archived meanwhile.
    const record = context.table.get(id);
    if (record.life === 'archived') return;
    revoked?.throwIfAborted();
    const { queued, inTurn } = state();
    if (queued) {
      throw new FairleadError('land.already-queued', `${id} is in the merge queue.`, {
        hint: `Wait until it has landed, or take it out: fairlead unqueue ${id}`,
      });
    }
    if (record.git_dir !== null) {
      const hold = inTurn ? holdOf(record, context.table.openPrompts(id).length) : undefined;
      if (hold !== undefined) {
        throw new FairleadError('archive.unsaved', hold.message, {
          hint: `${hold.wait}, or end the agent: fairlead stop ${id}`,
        });
      }
      // Where neither repository nor worktree is left there is nothing to lose.
      const isGone =
        !existsSync(record.worktree) &&
        !isRepositoryThere(context.table.repository(record.repository).common_dir);
      const repository = isGone ? undefined : await this.#starter.repositoryOf(record);
      if (repository !== undefined) {
        await requireSaved(repository, record.worktree).catch((error: unknown) => {
          throw withCommands(error, id);
        });
      }
      await this.#openFor(id);
      revoked?.throwIfAborted();
      if (context.table.get(id).terminal !== null) report('Ending the agent', 30);
      await this.#sleepNow(id, 'done');
      report('Removing the worktree', 60);
      // Whoever looks for events makes their folder again, in what is being removed.
      observation.unwatch(id);
      try {
        if (repository !== undefined) await removeWorktree(repository, record.worktree);
      } catch (error) {
        observation.watch(id);
        throw withCommands(error, id);
      }
    }
    observation.unwatch(id);
    await this.#starter.trust.forget(id);
    const now = context.clock.now();
    context.table.update(id, { life: 'archived', archived_at: now, since: now, demand: null, reason: null });
    leavePlace(context, record.worktree);
    context.events.add({
      kind: 'session-archived',
      session: id,
      state: 'archived',
      entry: null,
      message: record.title,
    });
  }

  /** What runs is ended only through a ptyhost that answers. */
  async #openFor(id: string): Promise<void> {
    const { context, terminals } = this.#parts;
    const { life, terminal, shell } = context.table.get(id);
    if (life !== 'archived' && (terminal !== null || shell !== null)) await terminals.open();
  }

  async #endTerminals(record: SessionRecord): Promise<void> {
    const { context, observation, terminals } = this.#parts;
    const { id, terminal, shell } = record;
    await Promise.all([terminal, shell].map((each) => (each === null ? undefined : terminals.end(each))));
    context.step?.('agent-ended');
    if (terminal !== null) {
      // It may have taken a prompt until its end.
      await observation.takeIn(id);
      if (observation.endTurn(record, 'interrupted')) {
        context.table.update(id, restingFacts({ ...context.table.get(id), agent_fact: 'working' }));
      }
      keepUnsentPrompts(context.table, id, context.clock.now());
    }
    context.table.update(id, {
      ...(terminal === null ? {} : { terminal: null }),
      ...(shell === null ? {} : { shell: null }),
    });
  }
}

/** Why an agent that is not at rest keeps its worktree. Undefined when its turn has failed: nothing goes on then. */
function holdOf(
  { id, agent_fact, reason }: SessionRecord,
  openPrompts: number,
): { message: string; wait: string } | undefined {
  if (agent_fact === 'needs-you' && reason !== null && !takesPrompts(reason.kind)) {
    return {
      message: `The agent of ${id} needs you: ${/[.?!…]$/.test(reason.message) ? reason.message : `${reason.message}.`}`,
      wait: `Answer it (fairlead show ${id} says how)`,
    };
  }
  if (openPrompts > 0) {
    return { message: `A prompt is on its way to the agent of ${id}.`, wait: 'Wait until it is there' };
  }
  if (agent_fact === 'needs-you') return undefined;
  return { message: `The agent of ${id} is in a turn.`, wait: 'Wait for its end' };
}

/** What git says is not saved, with the commands that save it. */
function withCommands(error: unknown, id: string): unknown {
  if (!(error instanceof FairleadError) || error.code !== 'archive.unsaved') return error;
  const { message, hint, data, cause } = error;
  const folder = `fairlead attach ${id} --pane shell`;
  const isOfFiles = hint === undefined;
  return new FairleadError('archive.unsaved', message, {
    hint: isOfFiles
      ? `Land it: fairlead land ${id} --yes; or commit it, or throw it away, in its folder: ${folder}`
      : `${hint.replace(/\.$/, '')}, in its folder: ${folder}`,
    data,
    cause,
  });
}

/**
 * What is left of the facts when the agent is ended on purpose: nothing works, the agent asks nothing. A turn that was
 * cut off is one that has finished, with how it ended; what keeps the work from landing still does.
 */
function restingFacts({ agent_fact, demand, outcome }: SessionRecord): Partial<SessionRecord> {
  // Such a demand stands whether the agent runs or not.
  const keepsFromLanding = demand !== null && (isOfLanding(demand.kind) || demand.kind === 'login');
  if (keepsFromLanding) return { agent_fact: 'needs-you', reason: demand };
  const wasActive = agent_fact === 'working' || agent_fact === 'needs-you';
  if (!wasActive) return { agent_fact, reason: null };
  return { agent_fact: outcome === null || outcome === 'open' ? 'ended' : 'finished', reason: null };
}
