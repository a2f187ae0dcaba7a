import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ScratchFolder } from '../platform/scratch-folder.ts';
import type { Git } from './git.ts';
import { tail } from './git.ts';
import { decodePath, encodePath, pathOnDisk, splitNul } from './names.ts';

/** One path that differs between two commits. Modes and ids as git has them; zeros for "not there". */
export interface TreeChange {
  path: string;
  oldMode: string;
  oldId: string;
  newMode: string;
  newId: string;
}

/** What keeps a folder from following its branch. */
export interface Obstacle {
  why: 'changes' | 'in-the-way';
  paths: string[];
}

const ABSENT = '000000';
const GITLINK = '160000';

export async function changesBetween(git: Git, from: string, to: string): Promise<TreeChange[]> {
  const output = await git.run(['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', from, to]);
  const fields = splitNul(output.stdout);
  const changes: TreeChange[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [oldMode = '', newMode = '', oldId = '', newId = ''] = (fields[at] ?? Buffer.alloc(0))
      .toString('latin1')
      .slice(1)
      .split(' ');
    changes.push({ path: decodePath(fields[at + 1] ?? Buffer.alloc(0)), oldMode, oldId, newMode, newId });
  }
  return changes;
}

export interface FolderLook {
  obstacle: Obstacle | undefined;
  /** Changed paths that the index has exactly as on the new side. */
  stagedAsNew: Set<string>;
}

export interface LookOptions {
  /** HEAD is on the new side, index and files on the old one. */
  headHasMoved?: boolean;
  /** A move was cut off in here: what is missing on disk was removed by it, and is yet to be written. */
  wasCutOff?: boolean;
}

/**
 * What in a checkout would be lost if it moved from the old to the new side of `changes`. What is staged exactly as on
 * the new side is no obstacle. git itself looks at tracked and untracked files when it moves, but overwrites ignored
 * ones without a word. `git` is bound to the root of the checkout.
 */
export async function findObstacle(
  git: Git,
  changes: readonly TreeChange[],
  options: LookOptions = {},
): Promise<FolderLook> {
  const touched = new Map(changes.map((change) => [change.path, change]));
  const changed: string[] = [];
  const stagedAsNew = new Set<string>();
  for (const entry of await changedEntries(git)) {
    const change = touched.get(entry.path);
    if (change === undefined) continue;
    // Where HEAD has moved already, what is staged says nothing; what is changed on disk does.
    if (options.headHasMoved && entry.onDisk === '.') continue;
    if (options.wasCutOff && !entry.isStaged && entry.onDisk === 'D') continue;
    // Of a submodule only the commit moves that is written down: what is checked out in it stays.
    const isSubmodule = change.oldMode === GITLINK && change.newMode === GITLINK;
    if (isSubmodule && !entry.isStaged && entry.mode === GITLINK) continue;
    const asNew = entry.mode === change.newMode && (entry.mode === ABSENT || entry.id === change.newId);
    if (entry.isStaged && asNew) stagedAsNew.add(entry.path);
    else changed.push(entry.path);
  }
  if (changed.length > 0) return { obstacle: { why: 'changes', paths: changed.sort() }, stagedAsNew };
  const paths = pathsInTheWay(git.folder, changes, stagedAsNew);
  return { obstacle: paths.length === 0 ? undefined : { why: 'in-the-way', paths }, stagedAsNew };
}

interface ChangedEntry {
  path: string;
  isStaged: boolean;
  /** How the disk differs from the index: `.` not at all, `M`, `D`, `T`. */
  onDisk: string;
  /** In the index. */
  mode: string;
  id: string;
}

/** Tracked paths with changes, staged or not. */
async function changedEntries(git: Git): Promise<ChangedEntry[]> {
  const output = await git.run([
    'status',
    '--porcelain=v2',
    '-z',
    '--no-renames',
    '--untracked-files=no',
    '--ignore-submodules=dirty',
  ]);
  const entries: ChangedEntry[] = [];
  for (const field of splitNul(output.stdout).map(decodePath)) {
    const changed = /^1 (.)(.) \S+ \S+ (\d+) \d+ \S+ (\S+) (.*)$/s.exec(field);
    if (changed !== null) {
      const [, staged = '', onDisk = '', mode = '', id = '', path = ''] = changed;
      entries.push({ path, isStaged: staged !== '.', onDisk, mode, id });
      continue;
    }
    const path = /^u (?:\S+ ){9}(.*)$/s.exec(field)?.[1];
    if (path !== undefined) entries.push({ path, isStaged: false, onDisk: 'U', mode: '', id: '' });
  }
  return entries;
}

/** Files on disk, ignored or not, at places that only the new side has. */
export function pathsInTheWay(
  root: string,
  changes: readonly TreeChange[],
  known: ReadonlySet<string> = new Set(),
): string[] {
  const leaving = new Set(changes.filter(({ newMode }) => newMode === ABSENT).map(({ path }) => path));
  const inTheWay = new Set<string>();
  /** Folders looked at: whether something can lie below. */
  const folders = new Map<string, boolean>();
  for (const { path, oldMode, newMode } of changes) {
    if (oldMode !== ABSENT || known.has(path)) continue;
    if (!reaches(root, path, folders, (parent) => leaving.has(parent) || inTheWay.add(parent))) continue;
    const stat = lstatSync(pathOnDisk(root, path), { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (!stat.isDirectory()) {
      if (!leaving.has(path)) inTheWay.add(path);
    } else if (newMode !== GITLINK) {
      for (const below of filesBelow(root, path)) if (!leaving.has(below)) inTheWay.add(below);
    } else if (readdirSync(pathOnDisk(root, path)).length > 0) inTheWay.add(path);
  }
  return [...inTheWay].sort();
}

export type MoveOutcome = { kind: 'moved' } | { kind: 'refused'; paths: string[]; text: string };

/**
 * Moves index and files of a checkout from one tree to another; HEAD stays. Changes in other paths are kept, and
 * nothing that would be lost is overwritten, ignored files aside.
 */
export async function moveFolder(
  git: Git,
  from: string,
  to: string,
  env: Readonly<Record<string, string>>,
): Promise<MoveOutcome> {
  const output = await git.attempt(['read-tree', '-m', '-u', from, to], {
    env,
    config: { 'submodule.recurse': 'false', 'checkout.workers': '0' },
    timeoutMs: 15 * 60_000,
  });
  if (output.exitCode === 0) return { kind: 'moved' };
  const paths = [...output.stderr.matchAll(/(?:Entry|tree file) '(.+?)'/g)].flatMap(
    (match) => match[1] ?? [],
  );
  return { kind: 'refused', paths, text: tail(output.stderr, 8) };
}

/**
 * The tree of `commit` with `changes` made in it: where a checkout stands that has taken some steps of a move. git
 * moves on from there, but not from the beginning when a file has taken the place of a folder.
 */
export async function treeWith(git: Git, commit: string, changes: readonly TreeChange[]): Promise<string> {
  if (changes.length === 0) return git.text(['rev-parse', `${commit}^{tree}`]);
  using folder = new ScratchFolder();
  const env = { GIT_INDEX_FILE: join(folder.path, 'index') };
  await git.run(['read-tree', commit], { env });
  await git.run(['update-index', '-z', '--index-info'], { env, input: indexInfo(changes) });
  return await git.text(['write-tree'], { env });
}

/** What `update-index -z --index-info` reads to put the new side of `changes` into an index. */
export function indexInfo(changes: readonly TreeChange[]): Buffer {
  // Removals first: a folder must be gone before a file can take its place.
  const ordered = [...changes].sort((one, other) => rank(one) - rank(other));
  return Buffer.concat(
    ordered.flatMap(({ path, newMode, newId }) => [
      Buffer.from(`${newMode === ABSENT ? '0' : newMode} ${newId}\t`),
      encodePath(path),
      Buffer.of(0),
    ]),
  );
}

function rank({ newMode }: TreeChange): number {
  return newMode === ABSENT ? 0 : 1;
}

/** Whether the folder of `path` is there; `blocked` hears of a parent that is no folder. */
function reaches(
  root: string,
  path: string,
  folders: Map<string, boolean>,
  blocked: (parent: string) => unknown,
): boolean {
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    const parent = path.slice(0, slash);
    let open = folders.get(parent);
    if (open === undefined) {
      const stat = lstatSync(pathOnDisk(root, parent), { throwIfNoEntry: false });
      if (stat !== undefined && !stat.isDirectory()) blocked(parent);
      open = stat?.isDirectory() ?? false;
      folders.set(parent, open);
    }
    if (!open) return false;
  }
  return true;
}

function* filesBelow(root: string, folder: string): Generator<string> {
  for (const entry of readdirSync(pathOnDisk(root, folder), { withFileTypes: true, encoding: 'buffer' })) {
    const path = `${folder}/${decodePath(entry.name)}`;
    if (entry.isDirectory()) yield* filesBelow(root, path);
    else yield path;
  }
}
