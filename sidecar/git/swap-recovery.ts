import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '../platform/clock.ts';
import { readTextFile } from '../platform/regular-file.ts';
import { systemChildren } from './children.ts';
import type { Git } from './git.ts';
import { liveGits } from './live-gits.ts';
import { decodePath, splitNul } from './names.ts';
import { isInHistory, readRef, resolveCommit } from './refs.ts';
import { type Repository, readHead } from './repository.ts';
import { followCheckouts } from './swap-alone.ts';
import { changesBetween, moveFolder, type TreeChange } from './swap-folder.ts';
import {
  endSwapJournal,
  isOwned,
  journalFile,
  type SwapJournal,
  swapMarker,
  thisProcess,
  updateSwapJournal,
} from './swap-journal.ts';
import { adoptWritten, statesOnDisk } from './swap-repair.ts';
import { moveTogether, type OnStep } from './swap-together.ts';

export type RecoveryOutcome =
  /** The branch has moved, and its folder with it. */
  | { kind: 'moved' }
  /** Neither has; it can be begun again. */
  | { kind: 'not-moved' }
  /** The branch is something else by now; the folder agrees with it, as far as this swap goes. */
  | { kind: 'base-moved'; now: string | undefined }
  /** Somebody is still at work on it: try again later. */
  | { kind: 'busy'; text: string }
  /** Only a person can tell: these files are neither as before nor as after. The journal stays. */
  | { kind: 'blocked'; paths: string[]; text: string };

export interface RecoveryOptions {
  onStep?: OnStep;
  /** How long gits that outlived the sidecar are waited for, in milliseconds; default 10,000. */
  waitMs?: number;
}

/**
 * Ends a swap that was cut off, at whatever point: goes on with it where files have been touched, and leaves no lock of
 * ours. Call it for each of `pendingSwaps` at start, and before the next swap of the branch.
 */
export async function recoverSwap(
  repository: Repository,
  journal: SwapJournal,
  options: RecoveryOptions = {},
): Promise<RecoveryOutcome> {
  if (isOwned(journal)) return { kind: 'busy', text: 'Another sidecar is landing on this branch.' };
  const rebooted = journal.owner.boot !== thisProcess().boot;
  const owned = { ...journal, owner: thisProcess() };
  updateSwapJournal(repository, owned);
  const live = await unlock(repository, owned, options.waitMs ?? 10_000);
  if (live !== undefined) return { kind: 'busy', text: live };

  const { git } = repository;
  const { branch, from, to, folder } = owned;
  const end = <Outcome extends RecoveryOutcome>(outcome: Outcome): Outcome => {
    endSwapJournal(repository, branch);
    return outcome;
  };
  const now = await readRef(git, `refs/heads/${branch}`);
  const landed = now !== undefined && (await isInHistory(git, to, now));
  if (owned.alone) {
    if (landed && now === to) await followCheckouts(repository, owned);
    return end(settled(landed, now, from));
  }
  if (!existsSync(join(folder, '.git'))) return end(settled(landed, now, from));
  const here = git.in(folder);
  if ((await resolveCommit(git, to)) === undefined) {
    // Nothing points at what is about to land, so that a `git gc --prune=now` takes it away.
    const isUntouched =
      owned.phase === 'prepared' ||
      (await here.attempt(['diff-index', '--cached', '--quiet', from])).exitCode === 0;
    if (isUntouched) return end(settled(false, now, from));
    const text =
      `What was landing on ${branch} when it was cut off is gone from the repository. Bring the files in ${folder} ` +
      `back to ${branch} (see \`git status\`), then delete ${journalFile(repository, branch)}.`;
    return { kind: 'blocked', paths: [], text };
  }
  const changes = await changesBetween(git, from, to);
  const isAtHome = (await readHead(here)).branch === branch;

  if (landed) {
    // Files go first, so this is only met when a crash of the machine lost what was written before.
    const behind = rebooted || owned.phase !== 'ref';
    if (isAtHome && now === to && behind && (await differsFrom(here, from, changes)).length === 0) {
      const moved = await moveFolder(here, from, to, markerOf(owned));
      if (moved.kind === 'refused') return { kind: 'blocked', paths: moved.paths, text: moved.text };
    }
    return end({ kind: 'moved' });
  }
  if (owned.phase === 'prepared') return end(settled(false, now, from));
  const indexIsNew = (await differsFrom(here, to, changes)).length === 0;
  if (!isAtHome) {
    if (indexIsNew && changes.length > 0) {
      return {
        kind: 'blocked',
        paths: changes.map(({ path }) => path),
        text: `${folder} is not on ${branch} any more.`,
      };
    }
    return end(settled(false, now, from));
  }
  if (now !== from) return end(await followElsewhere(here, owned, now, indexIsNew));

  if (!indexIsNew) {
    const states = await statesOnDisk(here, changes);
    const isUntouched = changes.every(({ path }) => states.get(path) === 'old');
    if (isUntouched) return end({ kind: 'not-moved' });
    const foreign = changes.map(({ path }) => path).filter((path) => states.get(path) === 'else');
    if (foreign.length > 0) {
      return { kind: 'blocked', paths: foreign, text: `${folder} was edited while a landing was cut off.` };
    }
    await adoptWritten(here, changes, states);
  }
  return goOn(repository, owned, options.onStep ?? (() => {}));
}

/** Runs the rest of a swap whose files are, or can be, on the new side. */
async function goOn(repository: Repository, journal: SwapJournal, onStep: OnStep): Promise<RecoveryOutcome> {
  const outcome = await moveTogether(repository, journal, onStep);
  switch (outcome.kind) {
    case 'moved':
      return { kind: 'moved' };
    case 'base-moved':
      return { kind: 'busy', text: `${journal.branch} moved meanwhile.` };
    case 'folder-refuses':
      return { kind: 'blocked', paths: outcome.paths, text: outcome.text };
    default:
      return { kind: 'busy', text: outcome.text };
  }
}

/**
 * The branch went elsewhere after the files had moved. When nothing else happened in the folder, it follows; else the
 * person has begun to work on what they found, and it is theirs.
 */
async function followElsewhere(
  git: Git,
  journal: SwapJournal,
  now: string | undefined,
  indexIsNew: boolean,
): Promise<RecoveryOutcome> {
  if (now !== undefined && indexIsNew) {
    const whole = await git.attempt(['diff-index', '--cached', '--quiet', journal.to]);
    if (whole.exitCode === 0) await moveFolder(git, journal.to, now, markerOf(journal));
  }
  return { kind: 'base-moved', now };
}

function settled(landed: boolean, now: string | undefined, from: string): RecoveryOutcome {
  if (landed) return { kind: 'moved' };
  return now === from ? { kind: 'not-moved' } : { kind: 'base-moved', now };
}

/** Changed paths at which the index is not as in `commit`. */
async function differsFrom(git: Git, commit: string, changes: readonly TreeChange[]): Promise<string[]> {
  const output = await git.run(['diff-index', '--cached', '-z', '--name-only', '--no-renames', commit]);
  const different = new Set(splitNul(output.stdout).map(decodePath));
  return changes.map(({ path }) => path).filter((path) => different.has(path));
}

/**
 * Waits for gits of the swap that outlived the sidecar, then removes the locks that dead ones left.
 * @returns who is still at it; undefined when nobody is
 */
async function unlock(
  repository: Repository,
  journal: SwapJournal,
  waitMs: number,
): Promise<string | undefined> {
  const { name, value } = swapMarker(journal);
  const setup = repository.git.setup;
  const environment = Object.fromEntries(
    Object.entries(setup.environment).flatMap(([key, set]) => (set === undefined ? [] : [[key, set]])),
  );
  const tools = { children: setup.children ?? systemChildren, environment };
  const branchLock = join(repository.commonDir, 'refs', 'heads', `${journal.branch}.lock`);
  const locks = journal.alone ? [] : [join(journal.gitDir, 'index.lock'), join(journal.gitDir, 'HEAD.lock')];
  const isOurs = () => existsSync(branchLock) && readTextFile(branchLock).trim() === journal.to;
  let live: { own: number[]; all: number[] } = { own: [], all: [] };
  for (let waited = 0; ; waited += 50) {
    live = await liveGits(journal.folder, `${name}=${value}`, tools);
    const isLocked = locks.some((lock) => existsSync(lock)) || isOurs();
    if (live.own.length === 0 && !(isLocked && live.all.length > 0)) break;
    if (waited >= waitMs)
      return `git is still running in ${journal.folder} (process ${live.all.join(', ')}).`;
    await sleep(50);
  }
  for (const lock of locks) rmSync(lock, { force: true });
  if (journal.alone && isOurs() && repository.mainCheckout === undefined) {
    // The HEAD of a bare repository is locked with the branch that it names.
    rmSync(join(repository.commonDir, 'HEAD.lock'), { force: true });
  }
  if (isOurs()) rmSync(branchLock, { force: true });
  return undefined;
}

function markerOf(journal: SwapJournal): Record<string, string> {
  const { name, value } = swapMarker(journal);
  return { [name]: value };
}
