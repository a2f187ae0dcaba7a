import {
  beginMerge,
  clearTornMerge,
  inspectOpenMerge,
  nameMerge,
  type OpenMerge,
  removeStaleLock,
  undoMerge,
} from '../git/open-merge.ts';
import { branchTip, isAncestor } from '../git/refs.ts';
import { changedPaths, readStatus } from '../git/status.ts';
import type { QueueContext } from './context.ts';
import { readEvidence } from './hand-back-evidence.ts';
import {
  type Due,
  foretellMerge,
  hasBase,
  type Look,
  mergeOf,
  misplacedIn,
  operationIn,
} from './hand-back-look.ts';
import type { HandBackMoves } from './hand-back-moves.ts';
import type { HandBackStatus } from './hand-back-status.ts';
import type { HandBackRecord } from './hand-back-table.ts';
import { decide, judge } from './hand-back-verdict.ts';
import { conflictWords, missingWords, namedPaths, ontoOf } from './hand-back-words.ts';
import { fails } from './outcome.ts';
import { oneLine } from './untrusted-text.ts';

/**
 * Before an agent knows of its conflict: opens the merge in its worktree. That it begins is stored before, and it is
 * taken back when anything comes between.
 */
export class HandBackPreparation {
  readonly #context: QueueContext;
  readonly #status: HandBackStatus;
  readonly #moves: HandBackMoves;

  constructor(context: QueueContext, status: HandBackStatus, moves: HandBackMoves) {
    this.#context = context;
    this.#status = status;
    this.#moves = moves;
  }

  /** Does what is due about one that is being prepared; after it the agent is asked, or something is waited for. */
  async advance(look: Look): Promise<Due> {
    const { entry, row, session, repository, work } = look;
    const tip = await branchTip(repository.git, session.branch);
    if (tip === undefined) return this.#moves.failBranchMissing(look);
    if (this.#isInTurn(look)) return this.#waitForTurn(look);
    const misplaced = await misplacedIn(look);
    if (misplaced !== undefined) return this.#ask(look, misplaced);
    if (row.begun) return this.#takeUp(look);
    if (tip !== row.tip) {
      const message = `${entry.branch} moved before its agent was asked; it is tried again.`;
      return this.#status.settle(entry, row, { kind: 'resolved', message }, { unasked: true });
    }
    const operation = await operationIn(look);
    if (operation !== undefined) {
      return this.#ask(look, `A ${operation} is open in the worktree; end it, or give it up.`);
    }
    const changes = changedPaths(await readStatus(work));
    if (changes.length > 0) return this.#askToCommit(look, changes);
    const known = await this.#foretell(look);
    if (known === undefined) return undefined;
    return this.#begin({ ...look, row: known });
  }

  /**
   * The merge with the base as it was last seen: it may be another than the one that conflicted.
   * @returns undefined when there is nothing to hand back
   */
  async #foretell(look: Look): Promise<HandBackRecord | undefined> {
    const { entry, row, repository } = look;
    const { entries, paths } = this.#context;
    const seen = entries.baseSeen(entry.repository, entry.base, entry.target) ?? row.base_commit;
    const isNewer = seen !== row.base_commit && (await isAncestor(repository.git, row.base_commit, seen));
    const base = isNewer ? seen : row.base_commit;
    const merged = await foretellMerge(look, base, paths);
    switch (merged.kind) {
      case 'conflict':
        return this.#status.update(row, { base_commit: base, paths: merged.paths });
      case 'clean': {
        // A rebase met at one of its commits what a merge does not meet.
        if (entry.method === 'rebase' && !isNewer) {
          const words = conflictWords(entry, row.paths);
          const message = `${words} as it is rebased, though a merge would not. Land with --method merge, or squash.`;
          return this.#status.settle(entry, row, fails('conflict', message, { paths: row.paths }));
        }
        const message = `${ontoOf(entry)} has moved, and nothing conflicts any more.`;
        return this.#status.settle(entry, row, { kind: 'resolved', message }, { unasked: true });
      }
      case 'unrelated':
      case 'needs-worktree':
        return this.#status.update(row, { base_commit: base });
    }
  }

  async #begin(look: Look): Promise<Due> {
    const { step } = this.#context;
    const begun = { ...look, row: this.#status.update(look.row, { begun: true }) };
    await step('hand-back-begun');
    const outcome = await beginMerge(look.work, mergeOf(begun));
    await step('hand-back-merged');
    if (outcome.kind === 'refused') {
      const row = this.#status.update(begun.row, { begun: false });
      const what =
        outcome.paths.length === 0 ? outcome.text : `${outcome.text} (${namedPaths(outcome.paths)})`;
      return this.#ask({ ...begun, row }, `The merge cannot be begun in its worktree: ${oneLine(what)}`);
    }
    return this.#takeUp(begun);
  }

  /** Goes on with a merge that was begun, as it is found. */
  async #takeUp(look: Look): Promise<Due> {
    const found = await inspectOpenMerge(look.work, mergeOf(look));
    return found.kind === 'open' ? this.#opened(look, found) : this.#recover(look, found);
  }

  /** The merge is open, and the agent does not know it yet: it is asked, unless somebody was quicker. */
  async #opened(look: Look, { beside }: Extract<OpenMerge, { kind: 'open' }>): Promise<Due> {
    const { entry, row, session, work } = look;
    const { sessions, handBacks, entries, step } = this.#context;
    const merge = mergeOf(look);
    if (entries.get(entry.id).cancel) return this.#moves.cancel(look);
    // An agent that knows of the merge may have begun to resolve it.
    const isUnknown = row.missing === null;
    if (isUnknown && (this.#isInTurn(look) || beside.length > 0)) {
      if (await undoMerge(work, merge)) {
        await step('hand-back-undone');
        const undone = { ...look, row: this.#status.update(row, { begun: false }) };
        return this.#isInTurn(look) ? this.#waitForTurn(undone) : this.#askToCommit(undone, beside);
      }
    }
    if (this.#isInTurn(look)) return this.#waitForTurn(look);
    await nameMerge(work, merge.message);
    // Nothing is awaited between the last look at the agent and what is stored.
    if (this.#isInTurn(look)) return this.#waitForTurn(look);
    const asked = entries.transaction(() => {
      handBacks.update(row, { phase: 'asked', turns: sessions.turnCount(session.id) });
      return handBacks.open(entry.id);
    });
    await step('hand-back-asked');
    return asked === undefined ? undefined : { ...look, row: asked };
  }

  /** What the worktree holds of a merge that was begun is not that merge, or not all of it. */
  async #recover(look: Look, found: Exclude<OpenMerge, { kind: 'open' }>): Promise<Due> {
    const { work } = look;
    switch (found.kind) {
      case 'locked':
        if (!found.stale) return this.#status.show(look, 'another git writes in its worktree');
        await removeStaleLock(work);
        return look;
      case 'torn':
        if (this.#isInTurn(look)) return this.#waitForTurn(look);
        await clearTornMerge(work, mergeOf(look));
        return this.#status.prepareAnew(look);
      case 'none':
      case 'dirty':
      case 'other':
        // Not begun, or ended by others: what is there is theirs.
        return (await hasBase(look)) ? this.#takeOver(look) : this.#status.prepareAnew(look);
    }
  }

  /** Somebody has committed the merge before the agent was asked: that is judged as if it had been. */
  async #takeOver(look: Look): Promise<Due> {
    const verdict = judge(await readEvidence(look, this.#context.paths));
    const move = decide(verdict, { try: 0, turn: 'done', accepted: null });
    const turns = this.#context.sessions.turnCount(look.session.id);
    if (move.kind !== 'ask-again') return this.#moves.apply(look, verdict, move, turns);
    const missing = missingWords(move.missing, look.entry);
    return { ...look, row: this.#status.update(look.row, { phase: 'asked', missing, turns }) };
  }

  #isInTurn({ session }: Look): boolean {
    return this.#context.sessions.isInTurn(session.id);
  }

  #waitForTurn(look: Look): undefined {
    const { agent_fact, reason } = look.session;
    const asks = agent_fact === 'needs-you' && reason !== null;
    return this.#status.show(
      look,
      asks ? 'its agent gets that once you have answered it' : 'its agent gets that when its turn has ended',
    );
  }

  /** Shows that it waits for the person, for what they can do. */
  #ask(look: Look, what: string): undefined {
    return this.#status.show(look, what, 'landing-stopped');
  }

  #askToCommit(look: Look, paths: readonly string[]): undefined {
    const { id } = look.session;
    const what = `its worktree has changes that are not committed: ${namedPaths(paths)}. Commit or remove them, or land again: fairlead land ${id}`;
    return this.#ask(look, what);
  }
}
