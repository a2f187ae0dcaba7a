import { constants, type Dirent, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type { Git } from '../git/git.ts';
import { decodePath, displayPath, joinNul, pathOnDisk, splitNul } from '../git/names.ts';
import { operationInProgress } from '../git/operation.ts';
import type { Repository } from '../git/repository.ts';
import { parseStatus, readStatus } from '../git/status.ts';
import { readTextFile } from '../platform/regular-file.ts';
import { ScratchFolder } from '../platform/scratch-folder.ts';
import { FairleadError } from '../protocol/errors.ts';
import { mayMatch } from './segment-glob.ts';

/** What is copied besides the patterns of `.worktreeinclude`, unless the configuration names its own. */
const USUAL = ['.env*', 'CLAUDE.local.md', '.claude/settings.local.json'];

/**
 * Copies what git does not bring along from the main checkout into a fresh worktree: files that match `patterns`
 * (as in `.gitignore`; default: `.worktreeinclude` of the main checkout, and the usual local settings). Only files
 * that are untracked in the one and ignored in the other, so that no secret can be committed with the work; nothing
 * is overwritten, and no symbolic link leads out of either folder. Copy-on-write where the file system can.
 * @returns the paths copied, sorted
 */
export async function copyFiles(
  repository: Repository,
  folder: string,
  patterns: readonly string[] | undefined,
): Promise<string[]> {
  const main = repository.mainCheckout;
  if (main === undefined) return [];
  const wanted = patterns ?? [...readPatterns(join(main, '.worktreeinclude')), ...USUAL];
  const source = repository.git.in(main);
  const matching = await matchingPaths(source, await candidates(source, wanted), wanted);
  const ignored = await ignoredPaths(repository.git.in(folder), matching);
  const copied: string[] = [];
  for (const path of ignored) if (await copyOne(main, folder, path, 'inside')) copied.push(path);
  return copied.sort();
}

/**
 * Brings the uncommitted changes of the main checkout into a fresh worktree, as uncommitted ones. The main checkout
 * stays as it is; submodules are left out.
 * @returns the paths brought, sorted
 * @throws FairleadError `worktree.failed` when they do not fit the commit that the worktree stands on, or the main
 * checkout is in the middle of a merge, rebase, …; the worktree may hold a part of them then
 */
export async function bringChanges(repository: Repository, folder: string): Promise<string[]> {
  const main = repository.mainCheckout;
  if (main === undefined) return [];
  const source = repository.git.in(main);
  const status = await readStatus(source);
  const operation = operationInProgress(repository.commonDir);
  if (operation !== undefined || status.unmerged.length > 0) {
    throw new FairleadError('worktree.failed', `A ${operation ?? 'merge'} is open in ${main}.`, {
      hint: 'Finish it, or start without your uncommitted changes.',
    });
  }
  const patch = await source.run(
    [
      'diff',
      '--binary',
      '--full-index',
      '--no-color',
      '--no-ext-diff',
      '--no-textconv',
      '--no-renames',
      '--src-prefix=a/',
      '--dst-prefix=b/',
      '--ignore-submodules=all',
      'HEAD',
    ],
    { maxBytes: 1024 ** 3 },
  );
  if (patch.stdout.length > 0) {
    const applied = await repository.git
      .in(folder)
      .attempt(['apply', '--whitespace=nowarn', '-'], { input: patch.stdout });
    if (applied.exitCode !== 0) throw doesNotFit(main, applied.stderr);
  }
  const untracked = status.untracked.filter((path) => !path.endsWith('/'));
  for (const path of untracked) {
    if (!(await copyOne(main, folder, path, 'anywhere'))) throw doesNotFit(main, displayPath(path));
  }
  return [...new Set([...status.staged, ...status.unstaged, ...untracked])].sort();
}

function readPatterns(file: string): string[] {
  try {
    return readTextFile(file).split(/\r?\n/);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Files that git does not track. A folder that is ignored as such is looked into only when a pattern may reach there:
 * no pattern `.env*` is worth a walk through `node_modules`.
 */
async function candidates(git: Git, patterns: readonly string[]): Promise<string[]> {
  const args = ['status', '--porcelain=v2', '-z', '--untracked-files=all', '--ignored=matching'];
  const { untracked, ignored } = parseStatus((await git.run(args)).stdout);
  return [...untracked, ...ignored].flatMap((entry) => {
    if (!entry.endsWith('/')) return [entry];
    const folder = entry.slice(0, -1);
    return patterns.some((pattern) => mayReach(pattern, folder)) ? filesBelow(git.folder, folder) : [];
  });
}

/** Pure: whether a `.gitignore` pattern names this folder, something around it, or something in it by its path. */
export function mayReach(pattern: string, folder: string): boolean {
  const text = pattern.replace(/^[!\\]/, '').trimEnd();
  if (text === '' || pattern.startsWith('#')) return false;
  const segments = text.replace(/^\//, '').replace(/\/$/, '').split('/');
  const parts = folder.split('/');
  const [first = ''] = segments;
  if (segments.length === 1 && !text.startsWith('/')) return parts.some((part) => mayMatch(first, part));
  for (const [at, part] of parts.entries()) {
    const segment = segments[at];
    if (segment === undefined || segment === '**') return true;
    if (!mayMatch(segment, part)) return false;
  }
  return true;
}

function filesBelow(root: string, folder: string): string[] {
  let entries: Dirent<Buffer>[];
  try {
    entries = readdirSync(pathOnDisk(root, folder), { withFileTypes: true, encoding: 'buffer' });
  } catch {
    // Gone meanwhile, or not ours to read: nothing to copy.
    return [];
  }
  const names = entries.map((entry) => ({ entry, name: decodePath(entry.name) }));
  // A repository of its own is no set of local files.
  if (names.some(({ name }) => name === '.git')) return [];
  return names.flatMap(({ entry, name }) => {
    const path = `${folder}/${name}`;
    return entry.isDirectory() ? filesBelow(root, path) : [path];
  });
}

/** Those of `paths` that the patterns match, by git's own rules: asked of an empty repository that has only them. */
async function matchingPaths(
  git: Git,
  paths: readonly string[],
  patterns: readonly string[],
): Promise<string[]> {
  if (paths.length === 0) return [];
  using folder = new ScratchFolder();
  const empty = git.in(folder.path);
  await empty.run(['init', '--quiet', '--template=']);
  await writeFile(join(folder.path, 'patterns'), `${patterns.join('\n')}\n`);
  const config = { 'core.excludesFile': join(folder.path, 'patterns') };
  return await ignoredPaths(empty, paths, config);
}

/** Those of `paths` that the checkout of `git` ignores; tracked ones are never ignored. */
async function ignoredPaths(
  git: Git,
  paths: readonly string[],
  config: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  if (paths.length === 0) return [];
  const output = await git.attempt(['check-ignore', '-z', '--stdin'], { input: joinNul(paths), config });
  if (output.exitCode > 1) throw new FairleadError('git.failed', output.stderr.trim());
  return splitNul(output.stdout).map(decodePath);
}

/**
 * Copies a file or recreates a symbolic link.
 * @param links `inside`: only links that stay inside the checkout; `anywhere`: as they are
 * @returns false when there is something at that place already, or the copy would leave the folder
 */
async function copyOne(
  from: string,
  to: string,
  path: string,
  links: 'inside' | 'anywhere',
): Promise<boolean> {
  const source = pathOnDisk(from, path);
  const target = pathOnDisk(to, path);
  const stat = lstatSync(source, { throwIfNoEntry: false });
  if (stat === undefined || (!stat.isFile() && !stat.isSymbolicLink())) return false;
  if (!staysInside(to, path)) return false;
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) return false;
  await mkdir(pathOnDisk(to, dirname(path)), { recursive: true });
  if (stat.isFile()) {
    await copyFile(source, target, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
    return true;
  }
  const link = readlinkSync(source, { encoding: 'buffer' });
  if (links === 'inside' && leavesCheckout(from, path, link)) return false;
  await symlink(link, target);
  return true;
}

/** Whether no folder on the way to `path` is a symbolic link (or no folder at all). */
function staysInside(root: string, path: string): boolean {
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    const stat = lstatSync(pathOnDisk(root, path.slice(0, slash)), { throwIfNoEntry: false });
    if (stat === undefined) return true;
    if (!stat.isDirectory()) return false;
  }
  return true;
}

function leavesCheckout(root: string, path: string, link: Buffer): boolean {
  const target = decodePath(link);
  if (isAbsolute(target)) return true;
  const below = relative(root, resolve(root, dirname(path), target));
  return below === '..' || below.startsWith('../') || isAbsolute(below);
}

function doesNotFit(main: string, detail: string): FairleadError {
  return new FairleadError('worktree.failed', `The uncommitted changes of ${main} do not fit the base.`, {
    hint: 'Commit or stash them, or start without them.',
    data: { detail: detail.trim() },
  });
}
