import { messageOf } from '../protocol/errors.ts';
import { checkoutsOf } from './checkouts.ts';
import { prepareUpdate } from './ref-transaction.ts';
import { readRef } from './refs.ts';
import type { Repository } from './repository.ts';
import { changesBetween, findObstacle, moveFolder } from './swap-folder.ts';
import { endSwapJournal, type SwapJournal, swapMarker } from './swap-journal.ts';
import type { OnStep, SwapOutcome } from './swap-together.ts';

/**
 * Moves a branch that is checked out nowhere. The journal is there already: by it a lock that a dead git of ours left
 * is told from somebody else's; see `recoverSwap`.
 */
export async function moveAlone(
  repository: Repository,
  journal: SwapJournal,
  onStep: OnStep,
): Promise<SwapOutcome> {
  const { git } = repository;
  const { branch, from, to, message } = journal;
  const ref = `refs/heads/${branch}`;
  const marker = swapMarker(journal);
  const prepared = await prepareUpdate(git, { ref, from, to }, message, { [marker.name]: marker.value });
  if (prepared.kind === 'failed') {
    const now = await readRef(git, ref);
    endSwapJournal(repository, branch);
    return now === from ? { kind: 'infrastructure', text: prepared.text } : { kind: 'base-moved', now };
  }
  try {
    await onStep('prepared');
    if (!(await prepared.update.commit()) && (await readRef(git, ref)) !== to) {
      return { kind: 'infrastructure', text: `The branch ${branch} could not be moved.` };
    }
    await onStep('branch-moved');
    await followCheckouts(repository, journal);
    endSwapJournal(repository, branch);
    await onStep('ended');
    return { kind: 'moved', folder: undefined };
  } catch (error) {
    await prepared.update.abort();
    return { kind: 'infrastructure', text: messageOf(error), cause: error };
  }
}

/** A folder may have switched to the branch between the look and the move; its files are those of `from` then. */
export async function followCheckouts(
  repository: Repository,
  { branch, from, to }: Pick<SwapJournal, 'branch' | 'from' | 'to'>,
): Promise<void> {
  for (const checkout of await checkoutsOf(repository, branch)) {
    if (checkout.missing || checkout.busy) continue;
    const here = repository.git.in(checkout.folder);
    const behind = await here.attempt(['diff-index', '--cached', '--quiet', from]);
    if (behind.exitCode !== 0) continue;
    const { obstacle } = await findObstacle(here, await changesBetween(here, from, to), {
      headHasMoved: true,
    });
    if (obstacle === undefined) await moveFolder(here, from, to, {});
  }
}
