import { changedFiles, changedFilesOnDisk, type FileChange, patchBetween, patchOnDisk } from '../git/diff.ts';
import type { Git } from '../git/git.ts';
import { displayPath } from '../git/names.ts';
import { treeOnDisk } from '../git/private-index.ts';
import { mergeBase, readRef, resolveCommit } from '../git/refs.ts';
import { openKnownRepository, requireRepository } from '../git/repository.ts';
import { ScratchObjects } from '../git/scratch-objects.ts';
import { findMisplacedWork } from '../git/work-place.ts';
import { inspectWorktree, requireOwnWorktree } from '../git/worktree-faults.ts';
import { FairleadError } from '../protocol/errors.ts';
import { gitOf, type SessionContext } from './context.ts';
import type { SessionRecord } from './record.ts';

/** A landing of a session's work: its head then, and the commit that brought it onto the base. Full ids. */
export interface Landing {
  base: string;
  head: string;
  landed: string;
}

interface DiffRequest {
  stat: boolean;
  /** What of the session has landed, newest first. */
  landings: readonly Landing[];
  signal: AbortSignal;
}

/**
 * What a session changed since it left its base: with what is uncommitted while it has a worktree, else what its
 * branch holds; where nothing is left of that because it has landed, what landed last. A patch as `git apply` takes it,
 * or with `stat` one line a file.
 * @throws FairleadError `base.missing` when base or branch are gone or have nothing in common; `repo.missing`,
 * `worktree.broken` when they are not where they were
 */
export async function diffOfSession(
  context: SessionContext,
  record: SessionRecord,
  request: DiffRequest,
): Promise<string> {
  const { stat, signal } = request;
  const look = async (ends: Ends) =>
    stat ? statOf(await filesBetween(ends, signal)) : (await patchOf(ends, signal)).toString('utf8');
  const { found, landing } = await latestWork(context, record, request.landings, {
    look,
    isNothing: (text) => text === (stat ? statOf([]) : ''),
  });
  const notes = landing === undefined ? noteOn(context, record) : [noteOnLanding(landing)];
  if (stat) return [found, ...notes].join('\n');
  // What stands before the first file is nothing to `git apply`.
  return [...notes, ...(found === '' ? [] : [found])].join('\n');
}

function noteOnLanding({ base, landed }: Landing): string {
  return `# It landed on ${base} as ${landed.slice(0, 10)}, and nothing came after; this is what landed.`;
}

/** That the worktree stands on another branch than the session's, as a sentence. */
function noteOn(context: SessionContext, record: SessionRecord): string[] {
  if (!isOnDisk(record)) return [];
  const { common_dir: commonDir } = context.table.repository(record.repository);
  const fault = inspectWorktree({ commonDir }, record.worktree, record.branch);
  if (fault?.kind !== 'other-branch') return [];
  return [
    `# The worktree stands on ${fault.branch ?? 'no branch'}, not on ${record.branch}, and only that lands; this is what is in the worktree.`,
  ];
}

/** The error for a session without its branch, with what makes it again. */
async function goneBranch(context: SessionContext, record: SessionRecord): Promise<FairleadError> {
  const known = context.table.repository(record.repository);
  const git = gitOf(context, context.table.environment(record.environment), known.main);
  const misplaced = await findMisplacedWork(await openKnownRepository(known, git), record);
  return new FairleadError('base.missing', misplaced?.message ?? `The branch ${record.branch} is gone.`, {
    hint: misplaced?.hint ?? 'Try again.',
  });
}

/** Files that a session changed, between two commits; `to` null stands for what is in its worktree. */
export interface SessionChanges {
  from: string;
  to: string | null;
  files: FileChange[];
}

/**
 * As {@link diffOfSession}, file by file.
 * @throws FairleadError `base.missing`
 */
export async function changesOfSession(
  context: SessionContext,
  record: SessionRecord,
  request: Omit<DiffRequest, 'stat'>,
): Promise<SessionChanges> {
  const { ends, found } = await latestWork(context, record, request.landings, {
    look: (each) => filesBetween(each, request.signal),
    isNothing: (files) => files.length === 0,
  });
  return { from: ends.from, to: ends.to, files: found };
}

interface Ends {
  git: Git;
  from: string;
  /** Null for what is on disk. */
  to: string | null;
}

/** The work that has not landed or, when there is none, that of the last landing. */
async function latestWork<T>(
  context: SessionContext,
  record: SessionRecord,
  [landing, ...before]: readonly Landing[],
  { look, isNothing }: { look(ends: Ends): Promise<T>; isNothing(found: T): boolean },
): Promise<{ ends: Ends; found: T; landing?: Landing }> {
  const current = await openWork(context, record, look).catch((error: unknown) => {
    // A branch that was deleted after it had landed.
    const isGone = error instanceof FairleadError && error.code === 'base.missing';
    if (landing === undefined || !isGone) throw error;
    return error;
  });
  if (!(current instanceof FairleadError) && (landing === undefined || !isNothing(current.found))) {
    return current;
  }
  if (landing !== undefined) {
    const git = gitOfSession(context, record);
    const from = await startOfLanding(git, record, landing, before);
    if (from !== undefined) {
      const ends = { git, from, to: landing.head };
      return { ends, found: await look(ends), landing };
    }
  }
  if (current instanceof FairleadError) throw current;
  return current;
}

async function openWork<T>(
  context: SessionContext,
  record: SessionRecord,
  look: (ends: Ends) => Promise<T>,
): Promise<{ ends: Ends; found: T }> {
  const ends = await endsOf(context, record);
  return { ends, found: await look(ends) };
}

/** Where work that has landed had left its base; undefined when git has tidied it away. */
async function startOfLanding(
  git: Git,
  record: SessionRecord,
  { head, landed }: Landing,
  before: readonly Landing[],
): Promise<string | undefined> {
  // The base as it was before, unless that took the commits as they were.
  const base = landed === head ? (before[0]?.landed ?? record.base_commit) : `${landed}^1`;
  const there = await Promise.all([base, head].map((commit) => resolveCommit(git, commit)));
  const [from, to] = there;
  return from === undefined || to === undefined ? undefined : mergeBase(git, from, to);
}

function filesBetween({ git, from, to }: Ends, signal: AbortSignal): Promise<FileChange[]> {
  return to === null ? changedFilesOnDisk(git, from, { signal }) : changedFiles(git, from, to, { signal });
}

function patchOf({ git, from, to }: Ends, signal: AbortSignal): Promise<Buffer> {
  return to === null ? patchOnDisk(git, from, { signal }) : patchBetween(git, from, to, { signal });
}

/** Where the work of a session begins and ends; null for what is on disk. */
async function endsOf(context: SessionContext, record: SessionRecord): Promise<Ends> {
  const onDisk = isOnDisk(record);
  const git = gitOfSession(context, record);
  const branch = `refs/heads/${record.branch}`;
  const head =
    onDisk && (await resolveCommit(git, 'HEAD')) !== undefined ? 'HEAD' : await readRef(git, branch);
  if (head === undefined) throw await goneBranch(context, record);
  const from = await startOf(git, record, head);
  if (from === undefined) {
    throw new FairleadError('base.missing', `${record.branch} cannot be compared with ${record.base}.`, {
      hint: 'One of the two branches is gone, or they have no common history.',
    });
  }
  return { git, from, to: onDisk ? null : head };
}

/**
 * What would turn the work of one session into that of another, with what is uncommitted in either; as
 * {@link diffOfSession} gives it. No object of it is left in the repository.
 * @throws FairleadError `params.invalid` (not of one repository), `base.missing` when a branch is gone, `repo.missing`,
 * `worktree.broken`
 */
export async function diffOfSessions(
  context: SessionContext,
  one: SessionRecord,
  other: SessionRecord,
  { stat, signal }: { stat: boolean; signal: AbortSignal },
): Promise<string> {
  if (one.repository !== other.repository) {
    throw new FairleadError('params.invalid', `${one.id} and ${other.id} are not of one repository.`, {
      hint: 'Compare two sessions of the same repository: fairlead ls',
    });
  }
  const known = context.table.repository(one.repository);
  requireRepository(known);
  const git = gitOf(context, context.table.environment(one.environment), known.main);
  using scratch = new ScratchObjects({ commonDir: context.table.repository(one.repository).common_dir });
  const from = await workOf(context, one, scratch);
  const to = await workOf(context, other, scratch);
  const options = { signal, env: scratch.env };
  if (stat) return statOf(await changedFiles(git, from, to, options));
  return (await patchBetween(git, from, to, options)).toString('utf8');
}

/** The tree of a session's worktree, or of its branch once the worktree is gone. */
async function workOf(
  context: SessionContext,
  record: SessionRecord,
  scratch: ScratchObjects,
): Promise<string> {
  const git = gitOfSession(context, record);
  if (isOnDisk(record)) return treeOnDisk(git, scratch);
  const head = await readRef(git, `refs/heads/${record.branch}`);
  if (head !== undefined) return `${head}^{tree}`;
  throw new FairleadError('base.missing', `The branch ${record.branch} of ${record.id} is gone.`, {
    hint: 'Its commits may still be in the reflog of the branch that it landed on.',
  });
}

function isOnDisk(record: SessionRecord): boolean {
  return record.life !== 'archived' && record.git_dir !== null;
}

/** @throws FairleadError `repo.missing`, `worktree.broken` when what is to be compared is not there */
function gitOfSession(context: SessionContext, record: SessionRecord): Git {
  const { table } = context;
  const known = table.repository(record.repository);
  requireRepository(known);
  if (isOnDisk(record)) requireOwnWorktree({ commonDir: known.common_dir }, record.worktree, record.branch);
  const folder = isOnDisk(record) ? record.worktree : known.main;
  return gitOf(context, table.environment(record.environment), folder);
}

/** Where the branch left its base: by now, or when the base is gone, when the session was made. */
async function startOf(git: Git, record: SessionRecord, head: string): Promise<string | undefined> {
  const base = await readRef(git, `refs/heads/${record.base}`);
  return mergeBase(git, base ?? record.base_commit, head);
}

function statOf(files: readonly FileChange[]): string {
  const sum = (count: (file: FileChange) => number | undefined) =>
    files.reduce((total, file) => total + (count(file) ?? 0), 0);
  const rows = files.map(({ path, added, deleted, status }) => {
    const counts = added === undefined ? 'binary' : `+${added} -${deleted}`;
    return `${counts.padStart(14)}  ${displayPath(path)}${status === 'modified' ? '' : ` (${status})`}`;
  });
  const total = `${files.length} ${files.length === 1 ? 'file' : 'files'}, +${sum(({ added }) => added)} -${sum(({ deleted }) => deleted)}`;
  return [...rows, total].join('\n');
}
