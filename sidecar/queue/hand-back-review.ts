import { branchTip } from '../git/refs.ts';
import type { QueueContext } from './context.ts';
import type { HandBackDelivery } from './hand-back-delivery.ts';
import { readEvidence } from './hand-back-evidence.ts';
import { type Due, hasBase, type Look, misplacedIn, operationIn } from './hand-back-look.ts';
import type { HandBackMoves } from './hand-back-moves.ts';
import type { HandBackStatus } from './hand-back-status.ts';
import { decide, judge } from './hand-back-verdict.ts';
import { resolvingWords } from './hand-back-words.ts';

export interface ReviewTools {
  status: HandBackStatus;
  moves: HandBackMoves;
  delivery: HandBackDelivery;
}

/** Once an agent is to know of its conflict: sees that it is told, and judges what it makes of that. */
export class HandBackReview {
  readonly #context: QueueContext;
  readonly #status: HandBackStatus;
  readonly #moves: HandBackMoves;
  readonly #delivery: HandBackDelivery;
  /** What was judged last, by entry. */
  readonly #judged = new Map<string, string>();

  constructor(context: QueueContext, { status, moves, delivery }: ReviewTools) {
    this.#context = context;
    this.#status = status;
    this.#moves = moves;
    this.#delivery = delivery;
  }

  /** Forgets what was judged of all entries but these. */
  keepOnly(entries: readonly string[]): void {
    for (const id of this.#judged.keys()) if (!entries.includes(id)) this.#judged.delete(id);
  }

  /** Does what is due about one that is asked, verified, or waits for the person. */
  async advance(look: Look): Promise<Due> {
    const { row } = look;
    const prompt = this.#context.sessions.promptState(row.request);
    if (prompt === 'none' || prompt === 'open') return this.#deliver(look, prompt);
    return this.#follow(look, prompt);
  }

  async #deliver(look: Look, prompt: 'none' | 'open'): Promise<Due> {
    const { row, session } = look;
    if (!this.#delivery.hasSent(row.request)) {
      if (prompt === 'none' && (await isGivenUp(look))) return this.#status.prepareAnew(look);
      await this.#delivery.send(look);
    } else if (
      session.life === 'sleeping' &&
      !this.#context.sessions.isInTurn(session.id) &&
      !this.#delivery.isSending
    ) {
      return this.#status.askPerson(
        look,
        `its agent was stopped before it got that, and gets it when it is started: fairlead resume ${session.id}`,
      );
    }
    return this.#status.show(look, resolvingWords(row.try));
  }

  async #follow(look: Look, prompt: 'arrived' | 'lost'): Promise<Due> {
    const { entry, row, session } = look;
    const { sessions, paths } = this.#context;
    const turns = sessions.turnCount(session.id);
    const last = sessions.lastTurn(session.id);
    if (sessions.isInTurn(session.id) || last === 'open') {
      const asked = row.phase === 'asked' ? row : this.#status.update(row, { phase: 'asked', result: null });
      return this.#status.show({ ...look, row: asked }, resolvingWords(asked.try));
    }
    const turn = turns <= row.turns ? 'none' : last === 'done' ? 'done' : 'cut-off';
    const seen = turn === 'none' ? row : this.#status.update(row, { phase: 'verifying', result: null });
    if (turn !== 'none')
      this.#status.show({ ...look, row: seen }, 'what its agent made of that is looked at');
    const tip = await branchTip(look.repository.git, session.branch);
    const judged = JSON.stringify([row.n, row.accepted, tip]);
    // Without a turn only a commit, or a word of the person, can have changed anything.
    if (turn === 'none' && this.#judged.get(entry.id) === judged) return undefined;
    const evidence = await readEvidence(look, paths);
    await this.#context.step('hand-back-verified');
    // What began meanwhile is looked at when it has ended.
    if (sessions.isInTurn(session.id) || sessions.turnCount(session.id) !== turns) return undefined;
    this.#judged.set(entry.id, judged);
    const verdict = judge(evidence);
    const move = decide(verdict, { try: row.try, turn, accepted: row.accepted });
    if (move.kind === 'wait' && prompt === 'lost' && row.phase === 'asked') {
      const why = this.#delivery.failureOf(row.request) ?? 'its agent did not take the prompt.';
      return this.#status.askPerson(look, `${why} To ask it again: fairlead land ${session.id}`);
    }
    return this.#moves.apply({ ...look, row: seen }, verdict, move, turns);
  }
}

/** Nothing of the merge is there: neither open nor committed, and the worktree is as good as any to begin it in. */
async function isGivenUp(look: Look): Promise<boolean> {
  if ((await misplacedIn(look)) !== undefined || (await hasBase(look))) return false;
  return (await operationIn(look)) === undefined;
}
