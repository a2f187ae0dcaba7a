import { type LandingOutcome, type LandingRequest, makeLandingCommit } from '../git/landing-commit.ts';
import type { Merger } from '../git/merging.ts';
import { Remembered } from './remembered.ts';

type Made = Extract<LandingOutcome, { kind: 'made' }>;

/** What was made to land: an entry that is tried again on the same base gets the same commit, and git no other. */
export class LandingCommits {
  readonly #made = new Remembered<Made>();

  /** @throws FairleadError as `makeLandingCommit` */
  async make(merger: Merger, request: LandingRequest): Promise<LandingOutcome> {
    const { repository } = merger;
    const { at, checkout, ...same } = request;
    const key = JSON.stringify([repository.commonDir, same]);
    const known = this.#made.get(key);
    // Nothing points at it, so git may have tidied it away; what it consists of goes with it.
    if (known !== undefined) {
      const there = await repository.git.attempt(['cat-file', '-e', `${known.commit}^{tree}`]);
      if (there.exitCode === 0) return known;
    }
    const made = await makeLandingCommit(merger, request);
    if (made.kind === 'made') this.#made.set(key, made);
    return made;
  }
}
