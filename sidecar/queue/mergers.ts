import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Git } from '../git/git.ts';
import { Merger } from '../git/merging.ts';
import { openRepository, type Repository } from '../git/repository.ts';

/** Each person's environment makes another. */
const REMEMBERED = 32;

/** One merger a repository and person: it remembers what it learned of the base's attributes. */
export class Mergers {
  readonly #known = new Map<string, Merger>();

  /**
   * `folder` is a checkout of the repository; `git` is how its person runs git there.
   * @throws FairleadError `repo.missing`, `repo.bare`, `git.missing`, `git.failed`
   */
  async of(git: Git, folder: string): Promise<Merger> {
    const key = JSON.stringify([folder, git.setup.environment]);
    const known = this.#known.get(key);
    const merger =
      known !== undefined && isThere(known.repository)
        ? known
        : new Merger(await openRepository(folder, git));
    // Again at the end: the one that was not used for longest goes first.
    this.#known.delete(key);
    this.#known.set(key, merger);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= REMEMBERED) break;
      this.#known.delete(oldest);
    }
    return merger;
  }

  /** Every repository that was opened, each once. */
  get repositories(): Repository[] {
    const each = [...this.#known.values()].map(({ repository }) => repository);
    return [...new Map(each.map((repository) => [repository.commonDir, repository])).values()];
  }
}

function isThere({ commonDir, topLevel }: Repository): boolean {
  return existsSync(join(commonDir, 'HEAD')) && existsSync(topLevel);
}
