import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from '../git/repository.ts';
import { recoverBase } from '../git/swap.ts';
import { pendingSwaps } from '../git/swap-journal.ts';
import { discardFolder } from '../git/worktrees.ts';
import { messageOf } from '../protocol/errors.ts';
import type { QueueContext } from './context.ts';
import type { Mergers } from './mergers.ts';
import { RETRY_MS } from './outcome.ts';
import { scratchFolders } from './scratch-folders.ts';

/** Opens every repository that ever had an entry, and removes the worktrees that a queue before us left in them. */
export async function clearLeftovers(context: QueueContext, mergers: Mergers): Promise<void> {
  const { entries, sessions, log } = context;
  for (const entry of entries.newestByRepository()) {
    const place = sessions.repository(entry.repository);
    try {
      await mergers.of(sessions.git(sessions.get(entry.session), place.main), place);
    } catch (error) {
      log.warn('repository not opened', { main: place.main, error: messageOf(error) });
    }
  }
  for (const parent of Object.values(scratchFolders(context.paths))) {
    for (const name of namesIn(parent)) {
      const folder = join(parent, name);
      for (const repository of mergers.repositories) {
        await discardFolder(repository, folder).catch((error: unknown) =>
          log.warn('worktree not removed', { folder, error: messageOf(error) }),
        );
      }
    }
  }
}

/** Ends moves of a base that were cut off, also those of entries that have ended; tried again until none is left. */
export class CutOffSwaps {
  readonly #context: QueueContext;
  readonly #mergers: Mergers;
  #looking: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #stopped = false;

  constructor(context: QueueContext, mergers: Mergers) {
    this.#context = context;
    this.#mergers = mergers;
  }

  /** Resolves when all have been looked at. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#endAll().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#looking;
  }

  async #endAll(): Promise<void> {
    let isDone = true;
    for (const repository of this.#mergers.repositories) {
      if (!(await this.#endThoseOf(repository))) isDone = false;
    }
    this.#cancelTimer?.();
    if (!isDone && !this.#stopped) {
      this.#cancelTimer = this.#context.clock.after(RETRY_MS.person, () => void this.look());
    }
  }

  async #endThoseOf(repository: Repository): Promise<boolean> {
    let isDone = true;
    try {
      for (const { branch } of pendingSwaps(repository)) {
        const outcome = await recoverBase(repository, branch);
        if (outcome?.kind !== 'busy' && outcome?.kind !== 'blocked') continue;
        this.#context.log.warn('a landing that was cut off waits', { branch, why: outcome.text });
        isDone = false;
      }
      return isDone;
    } catch (error) {
      const { commonDir } = repository;
      this.#context.log.warn('a landing that was cut off waits', { commonDir, error: messageOf(error) });
      return false;
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
