import { messageOf } from '../protocol/errors.ts';
import { prepareUpdate } from './ref-transaction.ts';
import { readRef } from './refs.ts';
import { type Repository, readHead } from './repository.ts';
import {
  changesBetween,
  findObstacle,
  type MoveOutcome,
  moveFolder,
  pathsInTheWay,
  treeWith,
} from './swap-folder.ts';
import { endSwapJournal, type SwapJournal, swapMarker, updateSwapJournal } from './swap-journal.ts';
import { restoreFolder } from './swap-repair.ts';

/** Between any two effects of a swap. Fault tests end the process in here. */
export type SwapStep =
  | 'begun'
  | 'prepared'
  | 'folder-next'
  | 'folder-moved'
  | 'branch-next'
  | 'branch-moved'
  | 'ended';

export type OnStep = (step: SwapStep) => void | Promise<void>;

export type FolderRefusal =
  /** Files that would be lost: changed, or (also ignored ones) in the way of new ones. */
  | 'changes'
  | 'in-the-way'
  /** A merge, rebase, bisect, … is open in the folder. */
  | 'operation'
  /** Another git writes there, or died doing so. */
  | 'locked'
  /** The folder went to another branch meanwhile. */
  | 'switched'
  /** Registered but not there. */
  | 'missing'
  /** More than one folder has the branch checked out. */
  | 'several';

export type SwapOutcome =
  | {
      kind: 'moved' /** That moved along; undefined when the branch was checked out nowhere. */;
      folder: string | undefined;
    }
  | { kind: 'base-moved' /** Undefined: the branch is gone. */; now: string | undefined }
  | { kind: 'folder-refuses'; folder: string; why: FolderRefusal; paths: string[]; text: string }
  | { kind: 'infrastructure'; text: string /** What was thrown, when something was. */; cause?: unknown };

/**
 * Moves a branch together with the folder that has it checked out: the branch is locked, then the files move, then
 * the branch. The journal is there already, and is left only when the folder could not be brought back; see
 * `recoverSwap`.
 */
export async function moveTogether(
  repository: Repository,
  journal: SwapJournal,
  onStep: OnStep,
): Promise<SwapOutcome> {
  const git = repository.git.in(journal.folder);
  const { branch, from, to, folder } = journal;
  const marker = swapMarker(journal);
  const env = { [marker.name]: marker.value };
  // One that goes on with files already moved must not be forgotten before they and the branch agree.
  const isFirst = journal.phase === 'prepared';
  const refuse = (why: FolderRefusal, paths: string[], text: string): SwapOutcome => {
    if (isFirst) endSwapJournal(repository, branch);
    return { kind: 'folder-refuses', folder, why, paths, text };
  };

  const now = await readRef(git, `refs/heads/${branch}`);
  if (now !== from) {
    if (isFirst) endSwapJournal(repository, branch);
    return { kind: 'base-moved', now };
  }
  const changes = await changesBetween(git, from, to);
  const look = await findObstacle(git, changes, { wasCutOff: !isFirst });
  if (look.obstacle !== undefined) {
    return refuse(look.obstacle.why, look.obstacle.paths, wouldLose(folder));
  }
  const prepared = await prepareUpdate(git, { ref: `refs/heads/${branch}`, from, to }, journal.message, env);
  if (prepared.kind === 'failed') {
    const instead = await readRef(git, `refs/heads/${branch}`);
    if (isFirst) endSwapJournal(repository, branch);
    return instead === from
      ? { kind: 'infrastructure', text: prepared.text }
      : { kind: 'base-moved', now: instead };
  }
  const { update } = prepared;
  try {
    await onStep('prepared');
    // From here on no other git can commit or switch in the folder, but it may have done so just before.
    if ((await readHead(git)).branch !== branch) {
      await update.abort();
      return refuse('switched', [], `${folder} is not on ${branch} any more.`);
    }
    const late = pathsInTheWay(folder, changes, look.stagedAsNew);
    if (late.length > 0) {
      await update.abort();
      return refuse('in-the-way', late, wouldLose(folder));
    }
    updateSwapJournal(repository, { ...journal, phase: 'folder' });
    await onStep('folder-next');
    const staged = changes.filter(({ path }) => look.stagedAsNew.has(path));
    const moved: MoveOutcome =
      staged.length === changes.length
        ? { kind: 'moved' }
        : await moveFolder(git, staged.length === 0 ? from : await treeWith(git, from, staged), to, env);
    if (moved.kind === 'refused') {
      // A full disk stops it half-way; then the branch stays, so the files have to go back.
      const stagedBefore = isFirst ? look.stagedAsNew : new Set<string>();
      const restored = await restoreFolder(git, changes, stagedBefore, { from }, env);
      await update.abort();
      if (restored === 'untouched') return refuse('changes', moved.paths, moved.text);
      if (restored === 'restored') endSwapJournal(repository, branch);
      return { kind: 'infrastructure', text: moved.text };
    }
    await onStep('folder-moved');
    updateSwapJournal(repository, { ...journal, phase: 'ref' });
    await onStep('branch-next');
    if (!(await update.commit()) && (await readRef(git, `refs/heads/${branch}`)) !== to) {
      return { kind: 'infrastructure', text: `The branch ${branch} could not be moved after its folder.` };
    }
    await onStep('branch-moved');
    endSwapJournal(repository, branch);
    await onStep('ended');
    return { kind: 'moved', folder };
  } catch (error) {
    await update.abort();
    // What has been done so far is in the journal.
    return { kind: 'infrastructure', text: messageOf(error), cause: error };
  }
}

export function wouldLose(folder: string): string {
  return `${folder} has files that would be lost.`;
}
