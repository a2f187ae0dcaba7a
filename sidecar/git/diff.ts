import type { Git, GitOptions } from './git.ts';
import { decodePath, joinNul, splitNul } from './names.ts';
import { withPrivateIndex } from './private-index.ts';

export type ChangeStatus = 'added' | 'modified' | 'deleted' | 'renamed' | 'type-changed' | 'unmerged';

/** One file that differs. Modes as git has them (`100644`); ids are undefined for files that only are on disk. */
export interface FileChange {
  path: string;
  /** Where a renamed file was. */
  oldPath: string | undefined;
  status: ChangeStatus;
  /** Lines; undefined for a binary file. */
  added: number | undefined;
  deleted: number | undefined;
  oldMode: string;
  newMode: string;
  oldId: string | undefined;
  newId: string | undefined;
}

export interface DiffOptions {
  /** Only these files and folders, by name: no globs. */
  paths?: readonly string[];
  /** Left out, by name. */
  without?: readonly string[];
  signal?: AbortSignal;
  /** More variables for git, such as those of `ScratchObjects`. */
  env?: Readonly<Record<string, string>>;
}

/** Whatever the person has set for their own diffs. */
const PLAIN = ['--no-ext-diff', '--no-textconv', '--no-color', '--find-renames', '--ignore-submodules=none'];
const PATCH = ['--patch', '--full-index', '--binary', '--src-prefix=a/', '--dst-prefix=b/'];
const LIST = ['--raw', '--numstat', '-z', '--no-abbrev'];
const MAX_BYTES = 256 * 1024 * 1024;

/** Files that differ between two commits (or trees). Renames are found. */
export async function changedFiles(
  git: Git,
  from: string,
  to: string,
  options: DiffOptions = {},
): Promise<FileChange[]> {
  const output = await git.run(
    ['diff-tree', '-r', ...PLAIN, ...LIST, from, to, '--', ...pathspecs(options)],
    optionsOf(options),
  );
  return parseChanges(output.stdout);
}

/** The difference between two commits (or trees) as `git apply` takes it. */
export async function patchBetween(
  git: Git,
  from: string,
  to: string,
  options: DiffOptions = {},
): Promise<Buffer> {
  const args = ['diff-tree', '-r', ...PLAIN, ...PATCH, from, to, '--', ...pathspecs(options)];
  return (await git.run(args, optionsOf(options))).stdout;
}

/** As {@link changedFiles}, up to what is on disk in the checkout of `git`: untracked files count, ignored ones do not. */
export async function changedFilesOnDisk(
  git: Git,
  from: string,
  options: DiffOptions = {},
): Promise<FileChange[]> {
  return withEverythingKnown(git, async (root, env) => {
    const args = ['diff', ...PLAIN, ...LIST, from, '--', ...pathspecs(options)];
    return parseChanges((await root.run(args, { ...optionsOf(options), env })).stdout);
  });
}

/** As {@link patchBetween}, up to what is on disk in the checkout of `git`. */
export async function patchOnDisk(git: Git, from: string, options: DiffOptions = {}): Promise<Buffer> {
  return withEverythingKnown(git, async (root, env) => {
    const args = ['diff', ...PLAIN, ...PATCH, from, '--', ...pathspecs(options)];
    return (await root.run(args, { ...optionsOf(options), env })).stdout;
  });
}

/**
 * Pure: parses `--raw --numstat -z --no-abbrev`: all raw entries, then all counts.
 * Source: git-diff-tree(1), "RAW OUTPUT FORMAT" and "OTHER DIFF FORMATS".
 */
export function parseChanges(output: Buffer): FileChange[] {
  const fields = splitNul(output).map(decodePath);
  const changes: FileChange[] = [];
  let at = 0;
  while (fields[at]?.startsWith(':')) {
    const [oldMode = '', newMode = '', oldId = '', newId = '', letters = ''] = (fields[at] ?? '')
      .slice(1)
      .split(' ');
    const status = statusOf(letters);
    const isRename = /^[RC]/.test(letters);
    changes.push({
      path: fields[at + (isRename ? 2 : 1)] ?? '',
      oldPath: isRename ? fields[at + 1] : undefined,
      status,
      added: undefined,
      deleted: undefined,
      oldMode,
      newMode,
      oldId: known(oldId),
      newId: known(newId),
    });
    at += isRename ? 3 : 2;
  }
  const byPath = new Map(changes.map((change) => [change.path, change]));
  while (at < fields.length) {
    const [added = '', deleted = '', ...rest] = (fields[at] ?? '').split('\t');
    // A rename has an empty path here, and both follow as fields.
    const inline = rest.join('\t');
    const change = byPath.get(inline === '' ? (fields[at + 2] ?? '') : inline);
    if (change !== undefined && added !== '-') {
      change.added = Number(added);
      change.deleted = Number(deleted);
    }
    at += inline === '' ? 3 : 1;
  }
  return changes;
}

/**
 * Runs a comparison with an index of its own, in which untracked files are announced, so that they count as new. The
 * index of the checkout stays untouched, and no object is written but the empty one that announcements refer to.
 */
async function withEverythingKnown<Result>(
  git: Git,
  run: (root: Git, env: Record<string, string>) => Promise<Result>,
): Promise<Result> {
  return withPrivateIndex(git, async (root, env) => {
    const untracked = (await root.fields(['ls-files', '--others', '--exclude-standard', '-z'])).filter(
      (path) => !path.endsWith('/'),
    );
    if (untracked.length > 0) {
      await root.attempt(
        [
          '--literal-pathspecs',
          'add',
          '--intent-to-add',
          '--sparse',
          '--ignore-errors',
          '--pathspec-from-file=-',
          '--pathspec-file-nul',
        ],
        { input: joinNul(untracked), env, config: { 'core.splitIndex': 'false' } },
      );
    }
    return run(root, env);
  });
}

function pathspecs(options: DiffOptions): string[] {
  const wanted = (options.paths ?? []).map((path) => `:(top,literal)${path}`);
  const unwanted = (options.without ?? []).map((path) => `:(top,exclude,literal)${path}`);
  return [...(wanted.length === 0 && unwanted.length > 0 ? [':(top)'] : wanted), ...unwanted];
}

function optionsOf(options: DiffOptions): GitOptions {
  const { signal, env } = options;
  return {
    maxBytes: MAX_BYTES,
    ...(signal === undefined ? {} : { signal }),
    ...(env === undefined ? {} : { env }),
  };
}

function known(id: string): string | undefined {
  return /^0+$/.test(id) ? undefined : id;
}

function statusOf(letters: string): ChangeStatus {
  switch (letters[0]) {
    case 'A':
    case 'C':
      return 'added';
    case 'D':
      return 'deleted';
    case 'R':
      return 'renamed';
    case 'T':
      return 'type-changed';
    case 'U':
      return 'unmerged';
    default:
      return 'modified';
  }
}
