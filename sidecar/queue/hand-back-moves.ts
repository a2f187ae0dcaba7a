import { clearTornMerge, inspectOpenMerge, undoMerge } from '../git/open-merge.ts';
import { branchTip } from '../git/refs.ts';
import type { QueueContext } from './context.ts';
import { type Due, type Look, mergeOf, misplacedIn } from './hand-back-look.ts';
import type { HandBackStatus } from './hand-back-status.ts';
import { MAX_TRIES, type Missing, type NextMove, type Verdict } from './hand-back-verdict.ts';
import { conflictWords, missingWords, ontoOf, personWords } from './hand-back-words.ts';
import { fails } from './outcome.ts';

/** Carries out what follows for a hand-back: it lands, the agent or the person is asked, it fails, it is taken out. */
export class HandBackMoves {
  readonly #context: QueueContext;
  readonly #status: HandBackStatus;

  constructor(context: QueueContext, status: HandBackStatus) {
    this.#context = context;
    this.#status = status;
  }

  /** @param turns how many turns the session had had when git was read */
  async apply(look: Look, verdict: Verdict, move: NextMove, turns: number): Promise<Due> {
    const { entry, row, session } = look;
    const onto = ontoOf(entry);
    switch (move.kind) {
      case 'wait':
        return undefined;
      case 'land': {
        const message = `The conflict with ${onto} is resolved.`;
        return this.#status.settle(entry, row, { kind: 'resolved', message });
      }
      case 'ask-person': {
        const result = verdict.kind === 'dropped' ? verdict.result : null;
        const asked = this.#status.update(row, { phase: 'needs-you', turns, result });
        const words = personWords(verdict, entry, session.id);
        return this.#status.show({ ...look, row: asked }, words, 'conflict');
      }
      case 'ask-again':
        return this.#askAgain(look, move.missing, move.anew, turns);
      case 'fail':
        return move.why === 'branch-missing'
          ? this.failBranchMissing(look)
          : this.#fail(look, verdict, move.why);
    }
  }

  failBranchMissing({ entry, row }: Look): undefined {
    const message = `The branch ${entry.branch} does not exist.`;
    return this.#status.settle(entry, row, fails('branch-missing', message));
  }

  /** The person takes it out. A merge that nobody was asked about is taken back; any other is whoever's who works on it. */
  async cancel(look: Look): Promise<undefined> {
    const { entry, row, work, session } = look;
    const isThere = (await misplacedIn(look)) === undefined;
    let note = '';
    if (row.begun && isThere) {
      const merge = mergeOf(look);
      const found = await inspectOpenMerge(work, merge);
      const mayUndo = row.phase === 'preparing' && !this.#context.sessions.isInTurn(session.id);
      if (mayUndo && found.kind === 'torn') await clearTornMerge(work, merge);
      const undone = mayUndo && found.kind === 'open' && (await undoMerge(work, merge));
      if (found.kind === 'open' && !undone)
        note = ` The merge of ${ontoOf(entry)} stays open in its worktree.`;
    }
    return this.#status.settle(entry, row, {
      kind: 'cancelled',
      message: `Taken out of the queue.${note}`,
    });
  }

  async #askAgain(look: Look, missing: Missing, anew: boolean, turns: number): Promise<Due> {
    const { entry, row, session, repository } = look;
    const { handBacks, entries, clock } = this.#context;
    const tip = anew ? await branchTip(repository.git, session.branch) : row.tip;
    if (tip === undefined) return this.failBranchMissing(look);
    const attempt = row.try + 1;
    const next = {
      ...row,
      try: attempt,
      phase: anew ? ('preparing' as const) : ('asked' as const),
      begun: row.begun && !anew,
      tip,
      missing: missingWords(missing, entry),
      turns,
    };
    const asked = entries.transaction(() => {
      entries.update(entry.id, { tries: entry.tries + 1 });
      return handBacks.add(next, clock.now());
    });
    await this.#context.step('hand-back-asked');
    return { ...look, row: asked };
  }

  async #fail(look: Look, verdict: Verdict, why: 'rewritten' | 'tries'): Promise<undefined> {
    const { entry, row, work } = look;
    const words = conflictWords(entry, row.paths);
    if (why === 'rewritten') {
      const message = `${words}, and its agent has taken commits out of ${entry.branch} (it was at ${row.tip.slice(0, 10)}). Land again if that is meant.`;
      return this.#status.settle(entry, row, fails('conflict', message, { paths: row.paths }));
    }
    const missing = verdict.kind === 'unfinished' ? missingWords(verdict.missing, entry) : '';
    // An agent that has done nothing about it leaves nothing worth keeping.
    const undone = await undoMerge(work, mergeOf(look)).catch(() => false);
    const isOpen = verdict.kind === 'unfinished' && verdict.missing.kind === 'not-committed' && !undone;
    const left = isOpen ? ' The merge stays open in its worktree.' : '';
    const message = `${words}, and its agent did not resolve that in ${MAX_TRIES} tries. ${missing}${left}`;
    return this.#status.settle(entry, row, fails('conflict', message, { paths: row.paths }));
  }
}
