import { lstatSync, readlinkSync, rmSync, type Stats } from 'node:fs';
import { readBytes } from '../platform/regular-file.ts';
import type { Git } from './git.ts';
import { encodePath, joinNul, pathOnDisk } from './names.ts';
import { indexInfo, moveFolder, type TreeChange, treeWith } from './swap-folder.ts';

/**
 * What lies on disk at a changed path: the `old` side, the `new` side, nothing although both sides have something
 * (`gone`: removed, not yet written), the beginning of the new side (`cut-off`), or what somebody `else` wrote.
 */
export type PathState = 'old' | 'new' | 'gone' | 'cut-off' | 'else';

const ABSENT = '000000';
const SYMLINK = '120000';
const GITLINK = '160000';

/** Looks at every changed path of a checkout whose move was cut off. `git` is bound to its root. */
export async function statesOnDisk(
  git: Git,
  changes: readonly TreeChange[],
): Promise<Map<string, PathState>> {
  const states = new Map<string, PathState>();
  const files: TreeChange[] = [];
  for (const change of changes) {
    const stat = statOf(git.folder, change.path);
    if (change.oldMode === GITLINK || change.newMode === GITLINK) states.set(change.path, 'old');
    // A folder stands where a file was, or will be: the file itself is not there.
    else if (stat === undefined || stat.isDirectory()) states.set(change.path, withoutFile(change));
    else files.push(change);
  }
  const ids = await idsOnDisk(git, files);
  for (const change of files) {
    const id = ids.get(change.path);
    const stat = statOf(git.folder, change.path);
    states.set(change.path, stat === undefined ? withoutFile(change) : await stateOf(git, change, id, stat));
  }
  return states;
}

/**
 * Tells the index of everything that a cut-off move has written, and deletes what it has begun to write, so that git
 * can go on (or back) from there.
 */
export async function adoptWritten(
  git: Git,
  changes: readonly TreeChange[],
  states: ReadonlyMap<string, PathState>,
): Promise<void> {
  for (const [path, state] of states) {
    if (state === 'cut-off') rmSync(pathOnDisk(git.folder, path), { force: true });
  }
  const written = changes.filter(({ path }) => states.get(path) === 'new');
  if (written.length > 0) {
    await git.run(['update-index', '-z', '--index-info'], { input: indexInfo(written) });
  }
  // Ends with 1 when other files are changed, which is nothing to us.
  await git.attempt(['update-index', '-q', '--refresh']);
}

/**
 * After a move that git gave up: brings index and files back to where they were.
 * @returns `untouched` when git had refused before it wrote anything; `stuck` when going back failed too
 */
export async function restoreFolder(
  git: Git,
  changes: readonly TreeChange[],
  stagedBefore: ReadonlySet<string>,
  commits: { from: string },
  env: Readonly<Record<string, string>>,
): Promise<'untouched' | 'restored' | 'stuck'> {
  const own = changes.filter(({ path }) => !stagedBefore.has(path));
  const states = await statesOnDisk(git, own);
  const touched = [...states.values()].some(
    (state) => state === 'new' || state === 'gone' || state === 'cut-off',
  );
  if (!touched) return 'untouched';
  await adoptWritten(git, own, states);
  const here = await treeWith(
    git,
    commits.from,
    changes.filter(({ path }) => stagedBefore.has(path) || states.get(path) === 'new'),
  );
  const target = await treeWith(
    git,
    commits.from,
    changes.filter(({ path }) => stagedBefore.has(path)),
  );
  if ((await moveFolder(git, here, target, env)).kind !== 'moved') return 'stuck';
  // What was removed and not written yet is as it should be in the index, so that the move back did not see it.
  const absent = own.filter(
    ({ path, oldMode }) =>
      oldMode !== ABSENT && oldMode !== GITLINK && statOf(git.folder, path) === undefined,
  );
  if (absent.length === 0) return 'restored';
  const output = await git.attempt(['checkout-index', '-u', '-z', '--stdin'], {
    input: joinNul(absent.map(({ path }) => path)),
  });
  return output.exitCode === 0 ? 'restored' : 'stuck';
}

function withoutFile({ oldMode, newMode }: TreeChange): PathState {
  if (newMode === ABSENT) return 'new';
  return oldMode === ABSENT ? 'old' : 'gone';
}

async function stateOf(
  git: Git,
  change: TreeChange,
  id: string | undefined,
  stat: Stats,
): Promise<PathState> {
  const kind = stat.isSymbolicLink() ? SYMLINK : (stat.mode & 0o100) === 0 ? '100644' : '100755';
  const isOld = id === change.oldId && sameKind(kind, change.oldMode);
  const isNew = id === change.newId && sameKind(kind, change.newMode);
  if (isOld && isNew) return kind === change.newMode ? 'new' : 'old';
  if (isNew) return 'new';
  if (isOld) return 'old';
  if (stat.isFile() && change.newMode !== ABSENT && change.newMode !== SYMLINK) {
    if (await isBeginning(git, change, readBytes(pathOnDisk(git.folder, change.path)))) return 'cut-off';
  }
  return 'else';
}

/** A link is no file; whether a file may be run is not told by every file system. */
function sameKind(found: string, mode: string): boolean {
  return (found === SYMLINK) === (mode === SYMLINK) && mode !== ABSENT;
}

async function isBeginning(git: Git, change: TreeChange, found: Buffer): Promise<boolean> {
  const written = change.path.isWellFormed()
    ? ['cat-file', '--filters', `--path=${change.path}`, change.newId]
    : ['cat-file', 'blob', change.newId];
  const output = await git.attempt(written);
  if (output.exitCode !== 0 || found.length >= output.stdout.length) return false;
  return output.stdout.subarray(0, found.length).equals(found);
}

/** The ids that git would give to what is on disk, filters applied. */
async function idsOnDisk(git: Git, files: readonly TreeChange[]): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  const plain: string[] = [];
  for (const { path } of files) {
    if (statOf(git.folder, path)?.isSymbolicLink()) {
      const target = readlinkSync(pathOnDisk(git.folder, path), { encoding: 'buffer' });
      ids.set(path, await git.text(['hash-object', '--stdin'], { input: target }));
    } else if (path.includes('\n')) {
      // The list is one path a line.
      const input = readBytes(pathOnDisk(git.folder, path));
      ids.set(path, await git.text(['hash-object', '--stdin', `--path=${path}`], { input }));
    } else {
      plain.push(path);
    }
  }
  if (plain.length === 0) return ids;
  const input = Buffer.concat(plain.flatMap((path) => [encodePath(path), Buffer.from('\n')]));
  const lines = await git.lines(['hash-object', '--stdin-paths'], { input });
  plain.forEach((path, at) => {
    ids.set(path, lines[at] ?? '');
  });
  return ids;
}

function statOf(root: string, path: string): Stats | undefined {
  try {
    return lstatSync(pathOnDisk(root, path), { throwIfNoEntry: false });
  } catch (error) {
    // A file stands where the folder was.
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw error;
  }
}
