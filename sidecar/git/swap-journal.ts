import { createHash } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { makeFoldersIn } from '../platform/folders.ts';
import { machineId } from '../platform/paths.ts';
import { bootId, isAlive } from '../platform/processes.ts';
import { readTextFile } from '../platform/regular-file.ts';
import { FairleadError } from '../protocol/errors.ts';
import * as z from '../protocol/zod.ts';
import type { Repository } from './repository.ts';

/**
 * How far a move of a branch together with its folder has come: `prepared`: nothing has changed; `folder`: files are
 * being written; `ref`: all files are, the branch is next.
 */
export const SwapPhase = z.enum(['prepared', 'folder', 'ref']);
export type SwapPhase = z.infer<typeof SwapPhase>;

/** Written before anything changes, removed when all has; what is found at start was cut off. */
export const SwapJournal = z.object({
  version: z.literal(1),
  branch: z.string(),
  /** Full commit ids. */
  from: z.string(),
  to: z.string(),
  /** For the reflog. */
  message: z.string(),
  folder: z.string(),
  /** Private git folder of `folder`. */
  gitDir: z.string(),
  /** The branch is checked out nowhere: `folder` and `gitDir` are the repository's own. */
  alone: z._default(z.boolean(), false),
  phase: SwapPhase,
  owner: z.object({
    pid: z.int(),
    /** When that process started, as the system counts; tells it from a later one with the same id. */
    started: z.string(),
    machine: z.string(),
    boot: z.string(),
  }),
});
export type SwapJournal = z.infer<typeof SwapJournal>;

/** The variable that every git of a swap carries, so that those that outlive us can be found. */
export function swapMarker(journal: SwapJournal): { name: string; value: string } {
  return { name: 'FAIRLEAD_SWAP', value: `${journal.branch}:${journal.from}:${journal.to}` };
}

export function newSwapJournal(
  fields: Omit<SwapJournal, 'version' | 'phase' | 'owner' | 'alone'> & { alone?: boolean },
): SwapJournal {
  return { version: 1, alone: false, ...fields, phase: 'prepared', owner: thisProcess() };
}

/** This process, as the owner of a swap. */
export function thisProcess(): SwapJournal['owner'] {
  return {
    pid: process.pid,
    started: startOf(process.pid),
    machine: machineId(),
    boot: bootId() ?? '',
  };
}

/**
 * Writes the journal of a swap that begins; one a branch.
 * @returns false when there is one already
 */
export function beginSwapJournal(repository: Pick<Repository, 'commonDir'>, journal: SwapJournal): boolean {
  const file = journalFile(repository, journal.branch);
  const begin = `${file}.begin`;
  makeFoldersIn(repository.commonDir, 'fairlead', 'swaps');
  const descriptor = openSync(begin, 'w', 0o600);
  writeSync(descriptor, JSON.stringify(journal));
  fsyncSync(descriptor);
  closeSync(descriptor);
  try {
    // Whole or not at all, and for one of two that begin at once.
    linkSync(begin, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(begin, { force: true });
  }
}

/** Replaces the journal of a swap that goes on. */
export function updateSwapJournal(repository: Pick<Repository, 'commonDir'>, journal: SwapJournal): void {
  const file = journalFile(repository, journal.branch);
  writeFileSync(`${file}.next`, JSON.stringify(journal), { mode: 0o600 });
  renameSync(`${file}.next`, file);
}

export function endSwapJournal(repository: Pick<Repository, 'commonDir'>, branch: string): void {
  const file = journalFile(repository, branch);
  rmSync(file, { force: true });
  rmSync(`${file}.next`, { force: true });
  rmSync(`${file}.begin`, { force: true });
}

/** The swap of this branch that began and has not ended; undefined when there is none. */
export function pendingSwap(
  repository: Pick<Repository, 'commonDir'>,
  branch: string,
): SwapJournal | undefined {
  return readJournal(journalFile(repository, branch));
}

/** All swaps of a repository that began and have not ended. */
export function pendingSwaps(repository: Pick<Repository, 'commonDir'>): SwapJournal[] {
  const folder = join(repository.commonDir, 'fairlead', 'swaps');
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return names
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => readJournal(join(folder, name)) ?? []);
}

/** Whether another process that still runs is at work on the swap. */
export function isOwned(journal: SwapJournal): boolean {
  const { owner } = journal;
  // On a shared disk the process of another machine cannot be seen; better wait for it than cut in.
  if (owner.machine !== machineId()) return true;
  if (owner.boot !== (bootId() ?? '')) return false;
  if (owner.pid === process.pid) return false;
  return isAlive(owner.pid) && startOf(owner.pid) === owner.started;
}

export function journalFile(repository: Pick<Repository, 'commonDir'>, branch: string): string {
  const name = createHash('sha256').update(branch).digest('hex').slice(0, 16);
  return join(repository.commonDir, 'fairlead', 'swaps', `${name}.json`);
}

function readJournal(file: string): SwapJournal | undefined {
  let text: string;
  try {
    text = readTextFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return SwapJournal.parse(JSON.parse(text));
  } catch {
    throw new FairleadError('git.failed', `The landing journal ${file} cannot be read.`, {
      hint: 'Look at `git status` in the folder of the base branch, put it right, and delete the file.',
    });
  }
}

/** Source: proc(5), `stat` field 22; elsewhere '' and the id has to do. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
