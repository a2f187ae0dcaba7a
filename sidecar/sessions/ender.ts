import { removeWorktree, requireSaved } from '../git/worktrees.ts';
import { sleep } from '../platform/clock.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { SessionRecord } from './record.ts';
import type { FleetParts, Starter } from './starter.ts';

/** How long the programs of a terminal are waited for after they were told to end, in milliseconds. */
const END_WITHIN_MS = 10_000;

/** Ends agents: to sleep, for good, or because somebody said so. */
export class Ender {
  readonly #parts: FleetParts;
  readonly #starter: Starter;

  constructor(parts: FleetParts, starter: Starter) {
    this.#parts = parts;
    this.#starter = starter;
  }

  /** Ends the agent and what it started; branch, worktree and conversation stay. `outcome` is that of an open turn. */
  async sleep(id: string, outcome: 'done' | 'interrupted'): Promise<void> {
    const { context, observation, view, serial } = this.#parts;
    await observation.look(id);
    await serial.run(id, async () => {
      const record = context.table.get(id);
      observation.endTurn(record, outcome);
      // Stored first: an agent that ends because of this is no news.
      context.table.update(id, { life: 'sleeping', terminal: null, shell: null, ...restingFacts(record) });
      await Promise.all(
        [record.terminal, record.shell].map((terminal) =>
          terminal === null ? undefined : this.#end(terminal),
        ),
      );
    });
    view.announce(id);
  }

  /** Ends every agent and shell. */
  async stopAll(): Promise<void> {
    const running = this.#parts.context.table
      .list({ archived: false })
      .filter(({ terminal, shell }) => terminal !== null || shell !== null);
    await Promise.all(running.map(({ id }) => this.sleep(id, 'interrupted')));
  }

  /**
   * Removes the worktree of a session; branch and conversation stay. Refused before anything is ended.
   * @throws FairleadError `archive.unsaved` naming what is not saved, `land.already-queued`, `worktree.failed`
   */
  async archive(record: SessionRecord, state: { queued: boolean; inTurn: boolean }): Promise<void> {
    const { context, observation, view } = this.#parts;
    const { id } = record;
    if (state.queued) {
      throw new FairleadError('land.already-queued', `${id} is in the merge queue.`, {
        hint: `Wait until it has landed, or take it out: fairlead unqueue ${id}`,
      });
    }
    if (record.git_dir !== null) {
      if (state.inTurn) {
        throw new FairleadError('archive.unsaved', `The agent of ${id} is in a turn.`, {
          hint: `Wait for its end, or end it: fairlead stop ${id}`,
        });
      }
      const repository = await this.#starter.repositoryOf(record);
      await requireSaved(repository, record.worktree);
      await this.sleep(id, 'done');
      // Whoever looks for events makes their folder again, in what is being removed.
      observation.unwatch(id);
      try {
        await removeWorktree(repository, record.worktree);
      } catch (error) {
        observation.watch(id);
        throw error;
      }
    }
    observation.unwatch(id);
    await this.#starter.trust.forget(id);
    const now = context.clock.now();
    context.table.update(id, { life: 'archived', archived_at: now, since: now, demand: null, reason: null });
    context.events.add({
      kind: 'session-archived',
      session: id,
      state: 'archived',
      entry: null,
      message: record.title,
    });
    view.announce(id);
  }

  async #end(terminal: string): Promise<void> {
    const { terminals } = this.#parts;
    if (terminals.terminal(terminal).kind !== 'known') return;
    await terminals.request('kill', { id: terminal });
    for (let waited = 0; waited < END_WITHIN_MS; waited += 50) {
      const known = terminals.terminal(terminal);
      if (known.kind !== 'known' || known.info.exited !== undefined) break;
      await sleep(50);
    }
    await terminals.request('forget', { id: terminal });
  }
}

/** What is left of the facts when the agent is ended on purpose: nothing works, nothing asks. */
function restingFacts(record: SessionRecord): Partial<SessionRecord> {
  const wasActive = record.agent_fact === 'working' || record.agent_fact === 'needs-you';
  return { agent_fact: wasActive ? 'ended' : record.agent_fact, reason: null };
}
