import { branchTip } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { changedPaths, readStatus } from '../git/status.ts';
import { inspectWorktree } from '../git/worktree-faults.ts';
import { messageOf } from '../protocol/errors.ts';
import type { ReasonKind } from '../protocol/reason.ts';
import type { SessionRecord } from '../sessions/record.ts';
import type { QueueContext } from './context.ts';
import type { EntryRecord } from './entry-table.ts';

/** What the author of the work has to mend before it can land. */
const TO_MEND = { conflict: 'conflict', 'red-check': 'check-failed' } as const satisfies Partial<
  Record<string, ReasonKind>
>;

/**
 * A conflict or a red check stands until something was done about it. Every prompt withdraws what the person is needed for,
 * since it may be about that; when its turn has ended and left branch and worktree as they were when the landing failed,
 * nothing was done, and the person is needed again. Whether what was done is enough only the next landing can tell.
 */
export class StandingFailures {
  readonly #context: QueueContext;
  readonly #repositoryOf: (session: SessionRecord) => Promise<Repository>;
  /** After how many turns of its session an entry was last looked at. */
  readonly #looked = new Map<string, number>();
  #looking: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(context: QueueContext, repositoryOf: (session: SessionRecord) => Promise<Repository>) {
    this.#context = context;
    this.#repositoryOf = repositoryOf;
  }

  /** Looks at what a turn may have changed; cheap when there was none. Never throws. */
  look(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#looking ??= this.#lookWhileDue().finally(() => {
      this.#looking = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#looking;
  }

  async #lookWhileDue(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      for (const entry of this.#context.entries.withdrawn(Object.keys(TO_MEND))) {
        await this.#lookAt(entry).catch((error: unknown) =>
          this.#context.log.warn('not looked whether a failure stands', {
            entry: entry.id,
            error: messageOf(error),
          }),
        );
      }
    }
  }

  async #lookAt(entry: EntryRecord): Promise<void> {
    const { entries, sessions, log } = this.#context;
    const turns = sessions.turnCount(entry.session);
    if (this.#stopped || this.#looked.get(entry.id) === turns || sessions.isInTurn(entry.session)) return;
    const session = sessions.get(entry.session);
    const isUntouched = await this.#isUntouched(entry, session);
    const now = sessions.get(entry.session);
    const isStill =
      entries.lastOf(entry.session)?.id === entry.id && sessions.turnCount(entry.session) === turns;
    // What happened meanwhile calls for another look.
    if (!isStill || sessions.isInTurn(entry.session) || now.demand !== null || now.life === 'archived')
      return;
    this.#looked.set(entry.id, turns);
    const kind =
      entry.reason === 'conflict' || entry.reason === 'red-check' ? TO_MEND[entry.reason] : undefined;
    if (!isUntouched || kind === undefined) return;
    log.info('a failure to land stands', { entry: entry.id, session: entry.session });
    const message = `${entry.message ?? 'It did not land.'} Nothing has changed on its branch since.`;
    sessions.setLanding(entry.session, 'none', { kind, message });
  }

  /** The branch is what was to land, and its worktree has nothing beside it. */
  async #isUntouched(entry: EntryRecord, session: SessionRecord): Promise<boolean> {
    const repository = await this.#repositoryOf(session);
    if ((await branchTip(repository.git, session.branch)) !== entry.head) return false;
    if (inspectWorktree(repository, session.worktree, session.branch) !== undefined) return false;
    const status = await readStatus(this.#context.sessions.git(session, session.worktree));
    return changedPaths(status).length === 0;
  }
}
