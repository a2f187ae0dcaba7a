import type { Git } from '../git/git.ts';
import { Merger } from '../git/merging.ts';
import { openRepository } from '../git/repository.ts';

/** One merger a repository: it remembers what it learned of the base's attributes. */
export class Mergers {
  readonly #known = new Map<string, Merger>();

  /** `folder` is a checkout of the repository; `git` is how its person runs git there. */
  async of(git: Git, folder: string): Promise<Merger> {
    const repository = await openRepository(folder, git);
    const known = this.#known.get(repository.commonDir);
    if (known !== undefined) return known;
    const merger = new Merger(repository);
    this.#known.set(repository.commonDir, merger);
    return merger;
  }
}
