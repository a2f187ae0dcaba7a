import { existsSync, lstatSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cleanEnvironment } from '../platform/environment.ts';
import { readTextFile } from '../platform/regular-file.ts';
import { systemChildren } from './children.ts';
import { type FileChange, parseChanges } from './diff.ts';
import { type Git, gitFailure, tail, textOf } from './git.ts';
import { liveGits } from './live-gits.ts';
import { decodePath, pathOnDisk, splitNul } from './names.ts';
import { isIndexLocked, operationInProgress } from './operation.ts';
import { treeOnDisk } from './private-index.ts';
import { ScratchObjects } from './scratch-objects.ts';
import { readStatus } from './status.ts';

/** The variable that a merge carries, so that one that outlives us can be found. */
const MERGE_MARKER = 'FAIRLEAD_HAND_BACK';

export interface HandedMerge {
  /** Where the branch, and HEAD, are before the merge. Full id. */
  tip: string;
  /** The commit that is merged. Full id: it stands in the markers, and no name moves under it. */
  base: string;
  /** Of the merge commit: one line. */
  message: string;
}

export type BegunMerge =
  /** It is open, with or without conflicts. */
  | { kind: 'open' }
  /** Nothing has changed: something in the worktree would be lost, or another git is at work. */
  | { kind: 'refused'; text: string; paths: string[] };

/** What a checkout holds of a merge. */
export type OpenMerge =
  /** No merge is open, and nothing is uncommitted. */
  | { kind: 'none' }
  /** No merge is open. `changes`: what is not committed. */
  | { kind: 'dirty'; changes: string[] }
  /** A merge was cut off: whatever differs from the commit before is what the merge would have made of it. */
  | { kind: 'torn'; changes: string[] }
  /**
   * The merge, as it was begun but for: `beside`, changed although the merge leaves it alone; `edited`, changed since the
   * merge made it.
   */
  | { kind: 'open'; beside: string[]; edited: string[] }
  /** Another merge, or something else that somebody has begun. */
  | { kind: 'other'; operation: string }
  /** A git writes here, perhaps ours of before; `stale`: none runs any more that could. */
  | { kind: 'locked'; stale: boolean };

/**
 * Begins a merge in the checkout of `git`, which has to be clean, and leaves it open, with markers where it conflicts.
 * Hooks are not run, and rerere, signing and autostash stay out of it.
 * @throws FairleadError `git.failed`, `disk.full`
 */
export async function beginMerge(git: Git, { tip, base, message }: HandedMerge): Promise<BegunMerge> {
  const ignored = await ignoredInTheWay(git, tip, base);
  if (ignored.length > 0) {
    return { kind: 'refused', text: 'Files that git ignores are in the way.', paths: ignored };
  }
  const args = ['merge', '--no-commit', '--no-ff', '--no-rerere-autoupdate', '--no-stat', '--no-autostash'];
  const output = await git.attempt([...args, '-m', message, '--', base], {
    config: {
      ...HOW_TO_MERGE,
      'rerere.enabled': 'false',
      'commit.gpgSign': 'false',
      'merge.verifySignatures': 'false',
      'submodule.recurse': 'false',
    },
    // A merge wants to know who would commit it, though nothing is.
    env: {
      [MERGE_MARKER]: base,
      GIT_AUTHOR_NAME: 'Fairlead',
      GIT_AUTHOR_EMAIL: 'fairlead@localhost',
      GIT_COMMITTER_NAME: 'Fairlead',
      GIT_COMMITTER_EMAIL: 'fairlead@localhost',
    },
  });
  if (mergeHeadOf(await gitDirOf(git)) === base) return { kind: 'open' };
  if (/would be overwritten|index\.lock|unmerged files/.test(output.stderr)) {
    return { kind: 'refused', text: tail(output.stderr, 3), paths: [] };
  }
  throw gitFailure(git.folder, args, output);
}

/** Paths that the merge brings anew where a file lies that git ignores: it would be overwritten without a word. */
async function ignoredInTheWay(git: Git, tip: string, base: string): Promise<string[]> {
  using scratch = new ScratchObjects({ commonDir: await commonDirOf(git) });
  const expected = await resultOf(git, tip, base, scratch);
  return (await differences(git, tip, expected, scratch))
    .filter(({ oldId, path }) => oldId === undefined && isOnDisk(git.folder, path))
    .map(({ path }) => path);
}

function isOnDisk(folder: string, path: string): boolean {
  return lstatSync(pathOnDisk(folder, path), { throwIfNoEntry: false }) !== undefined;
}

/** The tree that the merge makes, markers and all, byte for byte. */
async function resultOf(git: Git, ours: string, base: string, scratch: ScratchObjects): Promise<string> {
  const args = ['merge-tree', '--write-tree', '-z', ours, base];
  const merged = await git.attempt(args, { config: HOW_TO_MERGE, env: scratch.env });
  const tree = decodePath(splitNul(merged.stdout)[0] ?? Buffer.alloc(0));
  if (merged.exitCode <= 1 && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(tree)) return tree;
  throw gitFailure(git.folder, args, merged);
}

/** Whoever commits the merge without an editor gets this message, without git's own list of conflicts behind it. */
export async function nameMerge(git: Git, message: string): Promise<void> {
  const gitDir = await gitDirOf(git);
  if (existsSync(join(gitDir, 'MERGE_HEAD'))) await writeFile(join(gitDir, 'MERGE_MSG'), `${message}\n`);
}

/**
 * Looks at what is left of a merge that was begun, whatever has happened since. Reads only.
 * @throws FairleadError `git.failed`
 */
export async function inspectOpenMerge(git: Git, { tip, base }: HandedMerge): Promise<OpenMerge> {
  const gitDir = await gitDirOf(git);
  const environment = cleanEnvironment(git.setup.environment);
  const tools = { children: git.setup.children ?? systemChildren, environment };
  const live = await liveGits(git.folder, `${MERGE_MARKER}=${base}`, tools);
  if (live.own.length > 0) return { kind: 'locked', stale: false };
  if (isIndexLocked(gitDir)) return { kind: 'locked', stale: live.all.length === 0 };
  const operation = operationInProgress(gitDir);
  const isOpen = operation === 'merge' && mergeHeadOf(gitDir) === base;
  if (operation !== undefined && !isOpen) return { kind: 'other', operation };
  const status = await readStatus(git);
  const changes = [
    ...new Set([...status.staged, ...status.unstaged, ...status.unmerged, ...status.untracked]),
  ];
  if (!isOpen && changes.length === 0) return { kind: 'none' };

  using scratch = new ScratchObjects({ commonDir: await commonDirOf(git) });
  // The markers name it as the merge does.
  const expected = await resultOf(git, 'HEAD', base, scratch);
  const onDisk = await treeOnDisk(git, scratch);
  const touched = new Set((await differences(git, tip, expected, scratch)).map(({ path }) => path));
  const foreign = (await differences(git, expected, onDisk, scratch)).map(({ path }) => path);
  if (isOpen) {
    return {
      kind: 'open',
      beside: foreign.filter((path) => !touched.has(path)),
      edited: foreign.filter((path) => touched.has(path)),
    };
  }
  const changed = new Set((await differences(git, tip, onDisk, scratch)).map(({ path }) => path));
  // What is not yet as the merge makes it is as it was.
  const isExplained = foreign.every((path) => !changed.has(path));
  return { kind: isExplained ? 'torn' : 'dirty', changes };
}

/**
 * Takes back a merge that is open as it was begun, or with changes beside it that are not staged: those stay.
 * @returns false when nothing was taken back, because something would be lost
 * @throws FairleadError `git.failed`
 */
export async function undoMerge(git: Git, merge: HandedMerge): Promise<boolean> {
  const found = await inspectOpenMerge(git, merge);
  if (found.kind !== 'open' || found.edited.length > 0) return false;
  const staged = new Set((await readStatus(git)).staged);
  if (found.beside.some((path) => staged.has(path))) return false;
  await git.run(['merge', '--abort'], { config: { 'submodule.recurse': 'false' } });
  return true;
}

/**
 * Puts everything that a merge touched before it was cut off back to how it was.
 * @returns false when it is no such merge
 * @throws FairleadError `git.failed`
 */
export async function clearTornMerge(git: Git, merge: HandedMerge): Promise<boolean> {
  const found = await inspectOpenMerge(git, merge);
  if (found.kind !== 'torn') return false;
  // Files that the merge has brought are untracked, as far as it came.
  const known = new Set(await git.fields(['ls-tree', '-r', '-z', '--name-only', '--full-tree', merge.tip]));
  await git.run(['reset', '--quiet', '--hard', merge.tip], { config: { 'submodule.recurse': 'false' } });
  for (const path of found.changes) {
    if (!known.has(path)) await rm(pathOnDisk(git.folder, path), { force: true });
  }
  return true;
}

/** Removes the lock that a merge of ours has left which was killed, and which nobody holds any more. */
export async function removeStaleLock(git: Git): Promise<void> {
  await rm(join(await gitDirOf(git), 'index.lock'), { force: true });
}

/** The commit that is being merged in the checkout with this private git folder; undefined when none is, or several. */
export function mergeHeadOf(gitDir: string): string | undefined {
  try {
    const text = readTextFile(join(gitDir, 'MERGE_HEAD')).trim();
    return /^[0-9a-f]{40,64}$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

const HOW_TO_MERGE = { 'merge.conflictStyle': 'zdiff3' };

async function differences(
  git: Git,
  from: string,
  to: string,
  scratch: ScratchObjects,
): Promise<FileChange[]> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-abbrev', '--no-renames', from, to];
  return parseChanges((await git.run(args, { env: scratch.env })).stdout);
}

async function gitDirOf(git: Git): Promise<string> {
  return textOf(await git.run(['rev-parse', '--absolute-git-dir']));
}

async function commonDirOf(git: Git): Promise<string> {
  return git.text(['rev-parse', '--path-format=absolute', '--git-common-dir']);
}
