import { FairleadError, messageOf } from '../protocol/errors.ts';
import { type Checkout, checkoutsOf } from './checkouts.ts';
import { isIndexLocked, operationInProgress } from './operation.ts';
import { isAncestor } from './refs.ts';
import type { Repository } from './repository.ts';
import { moveAlone } from './swap-alone.ts';
import { changesBetween, findObstacle } from './swap-folder.ts';
import { beginSwapJournal, newSwapJournal, pendingSwap, type SwapJournal } from './swap-journal.ts';
import { type RecoveryOptions, type RecoveryOutcome, recoverSwap } from './swap-recovery.ts';
import {
  type FolderRefusal,
  moveTogether,
  type OnStep,
  type SwapOutcome,
  wouldLose,
} from './swap-together.ts';

export interface SwapRequest {
  /** Short name of the local branch. */
  branch: string;
  /** Full id of the value seen. */
  from: string;
  /** Full id of a descendant of it. */
  to: string;
  /** For the reflog. */
  message: string;
}

type FolderRefuses = Extract<SwapOutcome, { kind: 'folder-refuses' }>;

/** One swap a branch at a time in this process; the journal keeps other processes out. */
const running = new Map<string, Promise<unknown>>();

/**
 * Moves a local branch forward by an exact swap on the value seen. A folder that has it checked out moves with it or,
 * when it would lose something, neither moves.
 * @throws FairleadError `internal` when `to` does not descend from `from`
 */
export function swapBase(
  repository: Repository,
  request: SwapRequest,
  onStep: OnStep = () => {},
): Promise<SwapOutcome> {
  return oneAtATime(repository, request.branch, async () => {
    if (!(await isAncestor(repository.git, request.from, request.to))) {
      throw new FairleadError('internal', `Moving ${request.branch} to ${request.to} would rewind it.`);
    }
    try {
      return await swap(repository, request, onStep);
    } catch (error) {
      return { kind: 'infrastructure', text: messageOf(error), cause: error };
    }
  });
}

/** Ends the swap of a branch that was cut off; undefined when there is none. Idempotent. */
export function recoverBase(
  repository: Repository,
  branch: string,
  options: RecoveryOptions = {},
): Promise<RecoveryOutcome | undefined> {
  return oneAtATime(repository, branch, async () => {
    const journal = pendingSwap(repository, branch);
    return journal === undefined ? undefined : recoverSwap(repository, journal, options);
  });
}

/**
 * Why a folder that has the branch checked out would refuse the move, as `swapBase` would find it now; undefined when
 * none does. Looks, and changes nothing.
 * @throws FairleadError `git.failed`
 */
export async function findRefusal(
  repository: Repository,
  { branch, from, to }: Omit<SwapRequest, 'message'>,
): Promise<FolderRefuses | undefined> {
  // A folder in the middle of a move is for the recovery to judge.
  if (pendingSwap(repository, branch) !== undefined) return undefined;
  const checkouts = await checkoutsOf(repository, branch);
  const [checkout] = checkouts;
  if (checkout === undefined) return undefined;
  const { folder } = checkout;
  const refusal = refusalOf(checkouts, checkout);
  if (refusal !== undefined) return { kind: 'folder-refuses', folder, paths: [], ...refusal };
  const git = repository.git.in(folder);
  const { obstacle } = await findObstacle(git, await changesBetween(git, from, to));
  return obstacle === undefined
    ? undefined
    : { kind: 'folder-refuses', folder, ...obstacle, text: wouldLose(folder) };
}

async function swap(repository: Repository, request: SwapRequest, onStep: OnStep): Promise<SwapOutcome> {
  const pending = pendingSwap(repository, request.branch);
  if (pending !== undefined) {
    const stopped = afterRecovery(pending, await recoverSwap(repository, pending));
    if (stopped !== undefined) return stopped;
  }
  const checkouts = await checkoutsOf(repository, request.branch);
  const [checkout] = checkouts;
  const refusal = checkout && refusalOf(checkouts, checkout);
  if (checkout !== undefined && refusal !== undefined)
    return { kind: 'folder-refuses', folder: checkout.folder, paths: [], ...refusal };
  const { commonDir } = repository;
  const where =
    checkout === undefined
      ? { folder: commonDir, gitDir: commonDir, alone: true }
      : { folder: checkout.folder, gitDir: checkout.gitDir };
  const journal = newSwapJournal({ ...request, ...where });
  if (!beginSwapJournal(repository, journal)) {
    return { kind: 'infrastructure', text: `Another sidecar is landing on ${request.branch}.` };
  }
  await onStep('begun');
  return checkout === undefined
    ? moveAlone(repository, journal, onStep)
    : moveTogether(repository, journal, onStep);
}

function refusalOf(
  checkouts: readonly Checkout[],
  checkout: Checkout,
): { why: FolderRefusal; text: string } | undefined {
  const { folder, gitDir } = checkout;
  if (checkouts.length > 1) {
    const folders = checkouts.map((each) => each.folder).join(', ');
    return { why: 'several', text: `The branch is checked out in several folders: ${folders}` };
  }
  if (checkout.missing) {
    return {
      why: 'missing',
      text: `${folder} has the branch checked out but is not there: git worktree prune`,
    };
  }
  const operation = operationInProgress(gitDir);
  if (operation !== undefined) return { why: 'operation', text: `A ${operation} is open in ${folder}.` };
  if (isIndexLocked(gitDir)) return { why: 'locked', text: `Another git is at work in ${folder}.` };
  return undefined;
}

/** What the recovery of an earlier swap means for the next; undefined: go on. */
function afterRecovery(pending: SwapJournal, recovery: RecoveryOutcome): SwapOutcome | undefined {
  if (recovery.kind === 'busy') return { kind: 'infrastructure', text: recovery.text };
  if (recovery.kind !== 'blocked') return undefined;
  return {
    kind: 'folder-refuses',
    folder: pending.folder,
    why: 'changes',
    paths: recovery.paths,
    text: recovery.text,
  };
}

async function oneAtATime<Result>(
  repository: Repository,
  branch: string,
  run: () => Promise<Result>,
): Promise<Result> {
  const key = `${repository.commonDir}\0${branch}`;
  const before = running.get(key) ?? Promise.resolve();
  const mine = before.then(run, run);
  running.set(key, mine);
  try {
    return await mine;
  } finally {
    if (running.get(key) === mine) running.delete(key);
  }
}
