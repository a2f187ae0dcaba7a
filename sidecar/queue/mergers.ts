import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Git } from '../git/git.ts';
import { Merger } from '../git/merging.ts';
import { openKnownRepository, type Repository } from '../git/repository.ts';
import type { RepositoryRecord } from '../sessions/record.ts';
import { Remembered } from './remembered.ts';

/** Each person's environment makes another. */
const REMEMBERED = 32;

/** One merger a repository and person: it remembers what it learned of the base's attributes. */
export class Mergers {
  readonly #known = new Remembered<Merger>(REMEMBERED);
  /** By their common folders. However many there are: what was cut off in one is not to be forgotten. */
  readonly #repositories = new Map<string, Repository>();

  /**
   * `git` is how the person runs git in the main checkout.
   * @throws FairleadError `repo.missing`, `repo.bare`, `git.missing`, `git.failed`
   */
  async of(git: Git, place: Pick<RepositoryRecord, 'main' | 'common_dir'>): Promise<Merger> {
    const key = JSON.stringify([place.main, place.common_dir, git.setup.environment]);
    const known = this.#known.get(key);
    const merger =
      known !== undefined && isThere(known.repository)
        ? known
        : new Merger(await openKnownRepository(place, git));
    this.#known.set(key, merger);
    this.#repositories.set(merger.repository.commonDir, merger.repository);
    return merger;
  }

  /** Every repository that was opened, each once. */
  get repositories(): Repository[] {
    return [...this.#repositories.values()];
  }
}

function isThere({ commonDir, topLevel }: Repository): boolean {
  return existsSync(join(commonDir, 'HEAD')) && existsSync(topLevel);
}
