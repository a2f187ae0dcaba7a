import { join } from 'node:path';
import { readCommits } from '../git/commits.ts';
import type { Git } from '../git/git.ts';
import type { MergeOutcome, Merger } from '../git/merging.ts';
import { mergeInCheckout } from '../git/merging-checkout.ts';
import {
  beginMerge,
  clearTornMerge,
  type HandedMerge,
  inspectOpenMerge,
  nameMerge,
  type OpenMerge,
  removeStaleLock,
  undoMerge,
} from '../git/open-merge.ts';
import { operationInProgress } from '../git/operation.ts';
import { isAncestor, mergeBase } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { readResolution } from '../git/resolution.ts';
import { changedPaths, readStatus } from '../git/status.ts';
import { findMisplacedWork } from '../git/work-place.ts';
import { branchTip, inspectWorktree } from '../git/worktrees.ts';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import type { Reason } from '../protocol/reason.ts';
import { isSame } from '../sessions/need.ts';
import type { SessionRecord } from '../sessions/record.ts';
import { Serial } from '../sessions/serial.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord } from './entry-table.ts';
import { type LandedCommit, resolvePrompt } from './hand-back-prompt.ts';
import type { HandBackPatch, HandBackRecord } from './hand-back-table.ts';
import {
  decide,
  type Evidence,
  judge,
  MAX_HAND_BACKS,
  MAX_TRIES,
  type Missing,
  type NextMove,
  type Verdict,
} from './hand-back-verdict.ts';
import { conflictWords, missingWords, namedPaths, ontoOf, tryWords } from './hand-back-words.ts';
import { type Conflict, fails, type Outcome } from './outcome.ts';
import { scratchFolders } from './scratch-folders.ts';
import { settle } from './settlement.ts';
import { withHint } from './trouble.ts';
import { oneLine } from './untrusted-text.ts';

/** How often it is looked at what no signal tells: a person who resolves by hand, a file that was in the way. */
const POLL_MS = 5_000;

/** Commits of the base that the agent is told of. */
const TOLD_COMMITS = 12;

export interface HandBackTools {
  mergerOf(session: SessionRecord): Promise<Merger>;
  /** Tells clients how an entry is. */
  announce(entry: string): void;
  /** Something may be due on the base again. */
  landable(): void;
}

/** One hand-back at one moment, with what it takes to look at it. */
interface Look {
  entry: EntryRecord;
  row: HandBackRecord;
  session: SessionRecord;
  repository: Repository;
  merger: Merger;
  /** git in the session's worktree, as its person. */
  work: Git;
}

/**
 * Brings conflicts back to the agents that wrote the work, and judges what they make of them. Level-triggered: each look
 * reads store and git and does the one thing that is due, so that any process may end between any two effects. What it
 * begins in a worktree is stored before, and taken back unless the agent has been asked.
 */
export class HandBacks {
  readonly #context: QueueContext;
  readonly #tools: HandBackTools;
  readonly #serial = new Serial();
  /** What was looked at last, and when on the monotonic clock: without a change it is looked at again at leisure. */
  readonly #seen = new Map<string, { state: string; at: number }>();
  /** What was judged last. */
  readonly #judged = new Map<string, string>();
  /** Requests of prompts that this sidecar has brought on their way: one that was stopped by hand stays stopped. */
  readonly #sent = new Set<string>();
  readonly #sending = new Set<Promise<void>>();
  /** Why a prompt could not be brought, by its request. */
  readonly #unsent = new Map<string, string>();
  readonly #abort = new AbortController();
  #looking: Promise<void> | undefined;
  #again = false;
  #cancelTimer: (() => void) | undefined;

  constructor(context: QueueContext, tools: HandBackTools) {
    this.#context = context;
    this.#tools = tools;
  }

  get #isStopped(): boolean {
    return this.#abort.signal.aborted;
  }

  /** What a conflict becomes: handed back, or the person's at once where nobody can be asked. */
  offer(entry: EntryRecord, session: SessionRecord, conflict: Conflict & { kind: 'conflict' }): Outcome {
    const { sessions, configFor } = this.#context;
    const { land } = configFor(sessions.repository(session.repository).main);
    // One that has had no turn has written nothing.
    const hasAuthor = sessions.turnCount(session.id) > 0;
    const hasAgent = session.life !== 'archived' && session.git_dir !== null && hasAuthor;
    if (land.handBack === false || !hasAgent) return conflict;
    if (entry.tries >= MAX_HAND_BACKS) {
      const message = `${conflict.message} It was handed back ${entry.tries} times, and ${ontoOf(entry)} went on moving.`;
      return { ...conflict, message };
    }
    return {
      ...conflict,
      kind: 'handed-back',
      message: `${conflictWords(entry, conflict.paths)}; it goes back to its agent.`,
    };
  }

  /** Looks at everything that is handed back; cheap when nothing has changed. Never throws. */
  look(): void {
    if (this.#isStopped) return;
    this.#again = true;
    this.#looking ??= this.#lookWhileDue().finally(() => {
      this.#looking = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#abort.abort(new FairleadError('daemon.lost', 'The sidecar is ending.'));
    this.#cancelTimer?.();
    await this.#looking;
    await Promise.all(this.#sending);
  }

  /**
   * The person takes an entry out: a merge that the agent does not know of is taken back, any other is left to whoever
   * works on it. Resolves when that is settled.
   */
  async finish(id: string): Promise<void> {
    await this.#serial.run(id, () => this.#lookAt(id));
  }

  /**
   * The person lands again what is handed back and waits for them: a resolution that drops changes is taken as it is, the
   * agent is asked anew about an open merge, anything else is tried from the start.
   * @returns false when it waits for the agent, not for the person
   */
  async landAgain(id: string): Promise<boolean> {
    const isPersons = await this.#serial.run(id, async () => this.#landAgainNow(id));
    if (isPersons) {
      this.#seen.delete(id);
      this.look();
    }
    return isPersons;
  }

  #landAgainNow(id: string): boolean {
    const { entries, handBacks, sessions } = this.#context;
    const row = handBacks.open(id);
    const entry = entries.get(id);
    if (row === undefined || entry.cancel) return false;
    if (row.phase === 'needs-you' && row.result !== null) {
      handBacks.update(row, { accepted: row.result });
      return true;
    }
    if (row.phase === 'needs-you') {
      const missing = row.missing ?? 'Nobody has finished it.';
      handBacks.add(
        { ...row, try: 1, phase: 'asked', missing, turns: sessions.turnCount(entry.session) },
        this.#now(),
      );
      return true;
    }
    if (row.phase !== 'preparing' || row.begun) return false;
    this.#settle(entry, row, { kind: 'resolved', message: 'It is tried again.' }, { unasked: true });
    return true;
  }

  async #lookWhileDue(): Promise<void> {
    this.#cancelTimer?.();
    while (this.#again && !this.#isStopped) {
      this.#again = false;
      const handedBack = this.#handedBack();
      for (const map of [this.#seen, this.#judged]) {
        for (const id of map.keys()) if (!handedBack.includes(id)) map.delete(id);
      }
      for (const id of handedBack) await this.#lookIfDue(id);
    }
    if (this.#handedBack().length > 0 && !this.#isStopped) {
      this.#cancelTimer = this.#context.clock.after(POLL_MS, () => this.look());
    }
  }

  #handedBack(): string[] {
    return this.#context.entries
      .open()
      .filter(({ state }) => state === 'handed-back')
      .map(({ id }) => id);
  }

  async #lookIfDue(id: string): Promise<void> {
    const { clock, log } = this.#context;
    const seen = this.#seen.get(id);
    const now = clock.monotonic();
    if (seen?.state === this.#stateOf(id) && now - seen.at < POLL_MS - 500) return;
    try {
      await this.#serial.run(id, () => this.#lookAt(id));
      this.#seen.set(id, { state: this.#stateOf(id), at: now });
    } catch (error) {
      if (this.#isStopped) return;
      log.warn('hand-back not looked at', { entry: id, error: messageOf(error) });
      const entry = this.#context.entries.get(id);
      const row = this.#context.handBacks.open(id);
      if (row === undefined || entry.state !== 'handed-back') return;
      // Nothing that the author could mend, and no try: it is looked at again.
      this.#say(entry, { message: `${conflictWords(entry, row.paths)}; ${withHint(error)}` });
      this.#seen.set(id, { state: this.#stateOf(id), at: now });
    }
  }

  /** Everything but git that a look depends on. */
  #stateOf(id: string): string {
    const { entries, handBacks, sessions } = this.#context;
    const { session, cancel } = entries.get(id);
    const { life, demand } = sessions.get(session);
    const row = handBacks.open(id);
    const prompt = row && sessions.promptState(row.request);
    const agent = [sessions.isInTurn(session), sessions.turnCount(session), sessions.lastTurn(session)];
    return JSON.stringify([cancel, life, demand, row, prompt, agent]);
  }

  async #lookAt(id: string): Promise<void> {
    const { entries, handBacks, sessions } = this.#context;
    const entry = entries.get(id);
    const row = handBacks.open(id);
    if (entry.state !== 'handed-back' || entry.ended_at !== null) return;
    const session = sessions.get(entry.session);
    if (row === undefined)
      return this.#settle(entry, row, { kind: 'resolved', message: 'It is tried again.' });
    const merger = await this.#tools.mergerOf(session);
    const { repository } = merger;
    const work = sessions.git(session, session.worktree);
    const look: Look = { entry, row, session, merger, repository, work };
    if (entry.cancel) return this.#cancel(look);
    if (session.life === 'archived') {
      const message = `${conflictWords(entry, row.paths)}, and its agent was put away.`;
      return this.#settle(entry, row, fails('conflict', message, { paths: row.paths }));
    }
    return row.phase === 'preparing' ? this.#prepare(look) : this.#follow(look);
  }

  // ── Before the agent knows ─────────────────────────────────────────────────

  async #prepare(look: Look): Promise<void> {
    const { entry, row, session, repository, work } = look;
    const { sessions } = this.#context;
    const tip = await branchTip(repository.git, session.branch);
    if (tip === undefined) return this.#failBranchMissing(look);
    if (sessions.isInTurn(session.id)) return this.#waitForTurn(look);
    const misplaced = await misplacedIn(look);
    if (misplaced !== undefined) return this.#ask(look, misplaced);
    if (row.begun) {
      const found = await inspectOpenMerge(work, this.#mergeOf(look));
      if (found.kind === 'open') return this.#opened(look, found);
      return this.#recover(look, found);
    }
    if (tip !== row.tip) {
      const message = `${entry.branch} moved before its agent was asked; it is tried again.`;
      return this.#settle(entry, row, { kind: 'resolved', message }, { unasked: true });
    }
    const gitDir = await work.text(['rev-parse', '--absolute-git-dir']);
    const operation = operationInProgress(gitDir);
    if (operation !== undefined) {
      return this.#ask(look, `A ${operation} is open in the worktree; end it, or give it up.`);
    }
    const changes = changedPaths(await readStatus(work));
    if (changes.length > 0) return this.#askToCommit(look, changes);
    const known = await this.#foretell(look);
    if (known === undefined) return;
    return this.#begin({ ...look, row: known });
  }

  /** What the worktree holds of a merge that was begun is not that merge, or not all of it. */
  async #recover(look: Look, found: Exclude<OpenMerge, { kind: 'open' }>): Promise<void> {
    const { work, session } = look;
    switch (found.kind) {
      case 'locked':
        if (!found.stale) return this.#show(look, 'another git writes in its worktree');
        await removeStaleLock(work);
        return this.#prepare(look);
      case 'torn':
        if (this.#context.sessions.isInTurn(session.id)) return this.#waitForTurn(look);
        await clearTornMerge(work, this.#mergeOf(look));
        return this.#prepareAnew(look);
      case 'none':
      case 'dirty':
      case 'other':
        // Not begun, or ended by others: what is there is theirs.
        return (await this.#hasBase(look)) ? this.#takeOver(look) : this.#prepareAnew(look);
    }
  }

  /** Somebody has committed the merge before the agent was asked: that is judged as if it had been. */
  async #takeOver(look: Look): Promise<void> {
    const verdict = judge(await this.#gather(look));
    const move = decide(verdict, { try: 0, turn: 'done', accepted: null });
    const turns = this.#context.sessions.turnCount(look.session.id);
    if (move.kind !== 'ask-again') return this.#apply(look, verdict, move, turns);
    const row = this.#update(look.row, {
      phase: 'asked',
      missing: missingWords(move.missing, look.entry),
      turns,
    });
    return this.#follow({ ...look, row });
  }

  async #hasBase({ repository, session, row }: Look): Promise<boolean> {
    const tip = await branchTip(repository.git, session.branch);
    return tip !== undefined && (await isAncestor(repository.git, row.base_commit, tip));
  }

  #prepareAnew(look: Look): Promise<void> {
    return this.#prepare({ ...look, row: this.#update(look.row, { phase: 'preparing', begun: false }) });
  }

  /** Nothing of the merge is there: neither open nor committed, and the worktree is as good as any to begin it in. */
  async #isGivenUp(look: Look): Promise<boolean> {
    if ((await misplacedIn(look)) !== undefined || (await this.#hasBase(look))) return false;
    const gitDir = await look.work.text(['rev-parse', '--absolute-git-dir']);
    return operationInProgress(gitDir) === undefined;
  }

  /**
   * The merge with the base as it was last seen: it may be another than the one that conflicted.
   * @returns undefined when there is nothing to hand back
   */
  async #foretell({ entry, row, merger, repository }: Look): Promise<HandBackRecord | undefined> {
    const { entries } = this.#context;
    const seen = entries.baseSeen(entry.repository, entry.base, entry.target) ?? row.base_commit;
    const isNewer = seen !== row.base_commit && (await isAncestor(repository.git, row.base_commit, seen));
    const base = isNewer ? seen : row.base_commit;
    const merged = await this.#merge(merger, entry, row.tip, base);
    switch (merged.kind) {
      case 'conflict':
        return this.#update(row, { base_commit: base, paths: merged.paths });
      case 'clean': {
        // A rebase met at one of its commits what a merge does not meet.
        if (entry.method === 'rebase' && !isNewer) {
          const words = conflictWords(entry, row.paths);
          const message = `${words} as it is rebased, though a merge would not. Land with --method merge, or squash.`;
          this.#settle(entry, row, fails('conflict', message, { paths: row.paths }));
          return undefined;
        }
        const message = `${ontoOf(entry)} has moved, and nothing conflicts any more.`;
        this.#settle(entry, row, { kind: 'resolved', message }, { unasked: true });
        return undefined;
      }
      case 'unrelated':
      case 'needs-worktree':
        return this.#update(row, { base_commit: base });
      case 'infrastructure':
        throw merged.cause ?? new FairleadError('git.failed', merged.text);
    }
  }

  async #merge(merger: Merger, entry: EntryRecord, ours: string, theirs: string): Promise<MergeOutcome> {
    const merged = await merger.merge({ ours, theirs });
    if (merged.kind !== 'needs-worktree') return merged;
    const folder = join(scratchFolders(this.#context.paths).merges, `hand-back-${entry.id}`);
    return mergeInCheckout(merger.repository, { ours, theirs }, folder);
  }

  async #begin(look: Look): Promise<void> {
    const { step } = this.#context;
    const begun = { ...look, row: this.#update(look.row, { begun: true }) };
    await step('hand-back-begun');
    const outcome = await beginMerge(look.work, this.#mergeOf(begun));
    await step('hand-back-merged');
    if (outcome.kind === 'refused') {
      const row = this.#update(begun.row, { begun: false });
      const what =
        outcome.paths.length === 0 ? outcome.text : `${outcome.text} (${namedPaths(outcome.paths)})`;
      return this.#ask({ ...begun, row }, `The merge cannot be begun in its worktree: ${oneLine(what)}`);
    }
    const found = await inspectOpenMerge(look.work, this.#mergeOf(begun));
    return found.kind === 'open' ? this.#opened(begun, found) : this.#recover(begun, found);
  }

  /** The merge is open, and the agent does not know it yet: it is asked, unless somebody was quicker. */
  async #opened(look: Look, { beside }: Extract<OpenMerge, { kind: 'open' }>): Promise<void> {
    const { entry, row, session, work } = look;
    const { sessions, handBacks, entries, step } = this.#context;
    const merge = this.#mergeOf(look);
    if (entries.get(entry.id).cancel) return this.#cancel(look);
    // An agent that knows of the merge may have begun to resolve it.
    const isUnknown = row.missing === null;
    if (isUnknown && (sessions.isInTurn(session.id) || beside.length > 0)) {
      if (await undoMerge(work, merge)) {
        await step('hand-back-undone');
        const undone = { ...look, row: this.#update(row, { begun: false }) };
        return sessions.isInTurn(session.id) ? this.#waitForTurn(undone) : this.#askToCommit(undone, beside);
      }
    }
    if (sessions.isInTurn(session.id)) return this.#waitForTurn(look);
    await nameMerge(work, merge.message);
    // Nothing is awaited between the last look at the agent and what is stored.
    if (sessions.isInTurn(session.id)) return this.#waitForTurn(look);
    const asked = entries.transaction(() => {
      handBacks.update(row, { phase: 'asked', turns: sessions.turnCount(session.id) });
      return handBacks.open(entry.id);
    });
    await step('hand-back-asked');
    if (asked !== undefined) await this.#follow({ ...look, row: asked });
  }

  #waitForTurn(look: Look): void {
    const { agent_fact, reason } = look.session;
    const asks = agent_fact === 'needs-you' && reason !== null;
    this.#show(
      look,
      asks ? 'its agent gets that once you have answered it' : 'its agent gets that when its turn has ended',
    );
  }

  /** Shows that it waits for the person, for what they can do. */
  #ask(look: Look, what: string): void {
    this.#show(look, what, 'landing-stopped');
  }

  #askToCommit(look: Look, paths: readonly string[]): void {
    const { id } = look.session;
    const what = `its worktree has changes that are not committed: ${namedPaths(paths)}. Commit or remove them, or land again: fairlead land ${id}`;
    this.#ask(look, what);
  }

  // ── Once it knows ──────────────────────────────────────────────────────────

  async #follow(look: Look): Promise<void> {
    const { entry, row, session } = look;
    const { sessions } = this.#context;
    const prompt = sessions.promptState(row.request);
    if (prompt === 'none' || prompt === 'open') {
      if (!this.#sent.has(row.request)) {
        if (prompt === 'none' && (await this.#isGivenUp(look))) return this.#prepareAnew(look);
        await this.#send(look);
      } else if (session.life === 'sleeping' && !sessions.isInTurn(session.id) && this.#sending.size === 0) {
        return this.#askPerson(
          look,
          `its agent was stopped before it got that, and gets it when it is started: fairlead resume ${session.id}`,
        );
      }
      return this.#show(look, this.#agentWords(row));
    }
    const turns = sessions.turnCount(session.id);
    const last = sessions.lastTurn(session.id);
    if (sessions.isInTurn(session.id) || last === 'open') {
      const asked = row.phase === 'asked' ? row : this.#update(row, { phase: 'asked', result: null });
      return this.#show({ ...look, row: asked }, this.#agentWords(asked));
    }
    const turn = turns <= row.turns ? 'none' : last === 'done' ? 'done' : 'cut-off';
    const seen = turn === 'none' ? row : this.#update(row, { phase: 'verifying', result: null });
    if (turn !== 'none') this.#show({ ...look, row: seen }, 'what its agent made of that is looked at');
    const tip = await branchTip(look.repository.git, session.branch);
    const judged = JSON.stringify([row.n, row.accepted, tip]);
    // Without a turn only a commit, or a word of the person, can have changed anything.
    if (turn === 'none' && this.#judged.get(entry.id) === judged) return;
    const evidence = await this.#gather(look);
    await this.#context.step('hand-back-verified');
    // What began meanwhile is looked at when it has ended.
    if (sessions.isInTurn(session.id) || sessions.turnCount(session.id) !== turns) return;
    this.#judged.set(entry.id, judged);
    const verdict = judge(evidence);
    const move = decide(verdict, { try: row.try, turn, accepted: row.accepted });
    await this.#apply({ ...look, row: seen }, verdict, move, turns);
    if (move.kind === 'wait' && prompt === 'lost' && row.phase === 'asked') {
      const why = this.#unsent.get(row.request) ?? 'its agent did not take the prompt.';
      this.#askPerson(look, `${why} To ask it again: fairlead land ${session.id}`);
    }
  }

  /** Reads from git how the conflict stands. */
  async #gather(look: Look): Promise<Evidence> {
    const { entry, row, session, repository, merger, work } = look;
    const result = await branchTip(repository.git, session.branch);
    const misplaced = await misplacedIn(look);
    if (result === undefined)
      return { result, misplaced, isMergeOpen: false, uncommitted: [], resolution: undefined };
    const merged = await this.#merge(merger, entry, row.tip, row.base_commit);
    if (merged.kind === 'infrastructure') throw merged.cause ?? new FairleadError('git.failed', merged.text);
    const tree = 'tree' in merged ? merged.tree : row.tip;
    const { tip, base_commit: base, paths } = row;
    const resolution = await readResolution(repository.git, { tip, base, merged: tree, paths, result });
    if (misplaced !== undefined)
      return { result, misplaced, isMergeOpen: false, uncommitted: [], resolution };
    const gitDir = await work.text(['rev-parse', '--absolute-git-dir']);
    const operation = operationInProgress(gitDir);
    const { staged, unstaged, unmerged } = await readStatus(work, { untracked: 'no' });
    const uncommitted = [...new Set([...unmerged, ...unstaged, ...staged])].sort();
    const isMergeOpen = operation === 'merge';
    const inOther =
      operation === undefined || isMergeOpen ? undefined : `A ${operation} is open in the worktree.`;
    return { result, misplaced: inOther, isMergeOpen, uncommitted, resolution };
  }

  async #apply(look: Look, verdict: Verdict, move: NextMove, turns: number): Promise<void> {
    const { entry, row, session } = look;
    const onto = ontoOf(entry);
    switch (move.kind) {
      case 'wait':
        return;
      case 'land':
        this.#settle(entry, row, { kind: 'resolved', message: `The conflict with ${onto} is resolved.` });
        return;
      case 'ask-person': {
        const result = verdict.kind === 'dropped' ? verdict.result : null;
        const asked = this.#update(row, { phase: 'needs-you', turns, result });
        return this.#show({ ...look, row: asked }, personWords(verdict, session, onto, entry), 'conflict');
      }
      case 'ask-again':
        return this.#askAgain(look, move.missing, move.anew, turns);
      case 'fail':
        if (move.why === 'branch-missing') return this.#failBranchMissing(look);
        return this.#fail(look, verdict, move.why);
    }
  }

  async #askAgain(look: Look, missing: Missing, anew: boolean, turns: number): Promise<void> {
    const { entry, row, session, repository } = look;
    const { handBacks, entries } = this.#context;
    const tip = anew ? await branchTip(repository.git, session.branch) : row.tip;
    if (tip === undefined) return this.#failBranchMissing(look);
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
      return handBacks.add(next, this.#now());
    });
    await this.#context.step('hand-back-asked');
    await (anew ? this.#prepare({ ...look, row: asked }) : this.#follow({ ...look, row: asked }));
  }

  async #fail(look: Look, verdict: Verdict, why: 'rewritten' | 'tries'): Promise<void> {
    const { entry, row, work } = look;
    const words = conflictWords(entry, row.paths);
    if (why === 'rewritten') {
      const message = `${words}, and its agent has taken commits out of ${entry.branch} (it was at ${row.tip.slice(0, 10)}). Land again if that is meant.`;
      return this.#settle(entry, row, fails('conflict', message, { paths: row.paths }));
    }
    const missing = verdict.kind === 'unfinished' ? missingWords(verdict.missing, entry) : '';
    // An agent that has done nothing about it leaves nothing worth keeping.
    const undone = await undoMerge(work, this.#mergeOf(look)).catch(() => false);
    const isOpen = verdict.kind === 'unfinished' && verdict.missing.kind === 'not-committed' && !undone;
    const left = isOpen ? ' The merge stays open in its worktree.' : '';
    const message = `${words}, and its agent did not resolve that in ${MAX_TRIES} tries. ${missing}${left}`;
    this.#settle(entry, row, fails('conflict', message, { paths: row.paths }));
  }

  #failBranchMissing({ entry, row }: Look): void {
    this.#settle(entry, row, fails('branch-missing', `The branch ${entry.branch} does not exist.`));
  }

  /** A merge that nobody was asked about is taken back; any other is whoever's who works on it. */
  async #cancel(look: Look): Promise<void> {
    const { entry, row, work, session } = look;
    const isThere = (await misplacedIn(look)) === undefined;
    let note = '';
    if (row.begun && isThere) {
      const merge = this.#mergeOf(look);
      const found = await inspectOpenMerge(work, merge);
      const mayUndo = row.phase === 'preparing' && !this.#context.sessions.isInTurn(session.id);
      if (mayUndo && found.kind === 'torn') await clearTornMerge(work, merge);
      const undone = mayUndo && found.kind === 'open' && (await undoMerge(work, merge));
      if (found.kind === 'open' && !undone)
        note = ` The merge of ${ontoOf(entry)} stays open in its worktree.`;
    }
    this.#settle(entry, row, { kind: 'cancelled', message: `Taken out of the queue.${note}` });
  }

  // ── Telling ────────────────────────────────────────────────────────────────

  /** Brings the prompt on its way. What becomes of it is seen at later looks. */
  async #send(look: Look): Promise<void> {
    const { entry, row, session } = look;
    const { sessions, log } = this.#context;
    const text = await this.#promptFor(look);
    if (this.#isStopped) return;
    this.#sent.add(row.request);
    const sending = sessions
      .send(session.id, text, row.request, this.#abort.signal)
      .catch((error: unknown) => {
        if (this.#isStopped) return;
        log.warn('prompt of a hand-back not brought', { entry: entry.id, error: messageOf(error) });
        this.#unsent.set(row.request, withHint(error));
      })
      .finally(() => {
        this.#sending.delete(sending);
        this.look();
      });
    this.#sending.add(sending);
  }

  async #promptFor({ entry, row, session, repository, work }: Look): Promise<string> {
    const misplaced = inspectWorktree(repository, session.worktree, session.branch) !== undefined;
    const isOpen =
      !misplaced && operationInProgress(await work.text(['rev-parse', '--absolute-git-dir'])) === 'merge';
    const isMerged = await isAncestor(repository.git, row.base_commit, `refs/heads/${session.branch}`);
    return resolvePrompt({
      onto: ontoOf(entry),
      branch: session.branch,
      title: session.title,
      base: row.base_commit,
      paths: row.paths,
      landed: await landedOn(repository.git, row),
      missing: row.missing,
      merge: isOpen ? 'open' : isMerged ? 'committed' : 'elsewhere',
    });
  }

  #agentWords(row: HandBackRecord): string {
    return `its agent resolves that (${tryWords(row.try)})`;
  }

  #askPerson(look: Look, what: string): void {
    const row = this.#update(look.row, { phase: 'needs-you' });
    this.#show({ ...look, row }, what, 'conflict');
  }

  #show({ entry, row }: Look, what: string, demand?: Reason['kind']): void {
    const words = `${conflictWords(entry, row.paths)}${/^[A-Z/]/.test(what) ? '.' : ';'} ${what}`;
    const message = /[.!?…]$/.test(words) || /: fairlead \S+ \S+$/.test(words) ? words : `${words}.`;
    this.#say(entry, {
      message,
      paths: row.paths,
      demand: demand && { kind: demand, message: oneLine(message) },
    });
  }

  /** Says how it stands, once: what is said already changes nothing. */
  #say(
    { id, session }: EntryRecord,
    {
      message,
      paths,
      demand = null,
    }: { message: string; paths?: readonly string[]; demand?: Reason | null | undefined },
  ): void {
    const { entries, sessions } = this.#context;
    const changed = entries.transaction(() => {
      const now = entries.get(id);
      if (now.ended_at !== null || now.state !== 'handed-back') return false;
      const said = oneLine(message);
      const record = sessions.get(session);
      const isSaid = now.message === said && (paths === undefined || isSamePaths(now.paths, paths));
      if (!isSaid) {
        entries.update(id, {
          message: said,
          ...(paths === undefined ? {} : { paths: [...paths] }),
          changed_at: this.#now(),
        });
      }
      const isTold = record.landing === 'resolving' && isSame(record.demand, demand);
      if (!isTold && !(demand === null && isOfOthers(record.demand) && record.landing === 'resolving')) {
        sessions.setLanding(session, 'resolving', demand);
      }
      return !isSaid;
    });
    if (changed) this.#tools.announce(id);
  }

  #update(row: HandBackRecord, patch: HandBackPatch): HandBackRecord {
    const isSameNow = Object.entries(patch).every(
      ([name, value]) => JSON.stringify(row[name as keyof HandBackRecord]) === JSON.stringify(value),
    );
    if (!isSameNow) {
      this.#context.handBacks.update(row, patch);
      if (patch.phase !== undefined) this.#tools.announce(row.entry);
    }
    return { ...row, ...patch };
  }

  /** Ends the hand-back, in one transaction with what becomes of the entry. `unasked`: no try was used up. */
  #settle(
    entry: EntryRecord,
    row: HandBackRecord | undefined,
    outcome: Outcome,
    { unasked = false } = {},
  ): void {
    const { entries, handBacks } = this.#context;
    const changed = entries.transaction(() => {
      const now = entries.get(entry.id);
      if (now.ended_at !== null || now.state !== 'handed-back') return [];
      if (unasked && row?.try === 1) entries.update(entry.id, { tries: Math.max(0, now.tries - 1) });
      handBacks.close(entry.id);
      return settle(this.#context, entry.id, outcome);
    });
    for (const id of changed) this.#tools.announce(id);
    void this.#context.step('hand-back-settled');
    if (changed.length > 0) this.#tools.landable();
  }

  #mergeOf({ entry, row, session }: Look): HandedMerge {
    const message = `Merge ${ontoOf(entry)} into ${session.branch}`;
    return { tip: row.tip, base: row.base_commit, message };
  }

  #now(): number {
    return this.#context.clock.now();
  }
}

/** Why the worktree of a session is no place to merge in, as a sentence. */
async function misplacedIn({ repository, session }: Look): Promise<string | undefined> {
  const misplaced = await findMisplacedWork(repository, session);
  if (misplaced !== undefined) return `${misplaced.message} ${misplaced.hint}`;
  const fault = inspectWorktree(repository, session.worktree, session.branch);
  if (fault === undefined) return undefined;
  return fault.kind === 'folder-missing'
    ? `Its worktree ${session.worktree} is gone.`
    : `${session.worktree} is no worktree of this repository any more.`;
}

/** What landed on the base meanwhile and touches what is in conflict: what brought it first, then its own commits. */
async function landedOn(git: Git, { tip, base_commit, paths }: HandBackRecord): Promise<LandedCommit[]> {
  const since = (from: string) => [`--max-count=${TOLD_COMMITS}`, base_commit, `^${from}`, '--'];
  const where = paths.filter((path) => path.isWellFormed()).map((path) => `:(top,literal)${path}`);
  if (where.length === 0) return [];
  // Along first parents, a tip that is no ancestor would hide the merges by which work has landed.
  const fork = (await mergeBase(git, tip, base_commit)) ?? tip;
  const brought = await readCommits(git, '--first-parent', ...since(fork), ...where);
  const own = await readCommits(git, '--no-merges', ...since(tip), ...where);
  const known = new Set(brought.map(({ id }) => id));
  return [...brought, ...own.filter(({ id }) => !known.has(id))].map(({ id, subject, message }) => ({
    id,
    subject,
    body: message.split('\n').slice(1).join('\n'),
  }));
}

function personWords(verdict: Verdict, session: SessionRecord, onto: string, entry: EntryRecord): string {
  const again = `let its agent go on: fairlead send ${session.id} "Go on", or land again`;
  if (verdict.kind === 'unfinished') {
    return `its agent was interrupted. ${missingWords(verdict.missing, entry)} To ${again}`;
  }
  if (verdict.kind !== 'dropped') return `its agent was interrupted; ${again}`;
  const { how, paths } = verdict;
  const what =
    how === 'own-side'
      ? `its agent has kept its own side only, and dropped what ${onto} changed`
      : `its agent has dropped what ${onto} changed beside the conflict in ${namedPaths(paths)}`;
  return `${what}. Land again to take it so, or tell its agent what is missing: fairlead send ${session.id} TEXT`;
}

function isSamePaths(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((path, at) => path === other[at]);
}

/** Demands that are not the queue's: they are withdrawn by their own side. */
function isOfOthers(demand: Reason | null): boolean {
  return demand !== null && demand.kind !== 'conflict' && demand.kind !== 'landing-stopped';
}
