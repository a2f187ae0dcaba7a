import type { Git } from './git.ts';
import { decodePath, splitNul } from './names.ts';

/** What is not committed in a checkout. Paths are relative to its root. */
export interface Status {
  /** Undefined when detached. */
  branch: string | undefined;
  /** Undefined before the first commit. */
  head: string | undefined;
  /** Short name of the upstream, as `origin/main`; undefined when none is set. */
  upstream: string | undefined;
  /** Commits that HEAD has and the upstream lacks, and the reverse; undefined when the upstream is gone or unset. */
  ahead: number | undefined;
  behind: number | undefined;
  /** Changed in the index. */
  staged: string[];
  /** Changed on disk only, submodules with changes inside included. */
  unstaged: string[];
  /** In conflict. */
  unmerged: string[];
  /** Not known to git and not ignored. */
  untracked: string[];
  /** Only when asked for; a folder that is ignored as a whole stands with a trailing slash. */
  ignored: string[];
}

export interface StatusOptions {
  /** Default `all`: each file. `normal`: a folder without any tracked file once, with a trailing slash. */
  untracked?: 'all' | 'normal' | 'no';
  ignored?: boolean;
}

/** Reads only: the index is not refreshed on disk, so that no agent meets a lock. */
export async function readStatus(git: Git, options: StatusOptions = {}): Promise<Status> {
  const output = await git.run([
    'status',
    '--porcelain=v2',
    '-z',
    '--branch',
    '--no-renames',
    `--untracked-files=${options.untracked ?? 'all'}`,
    `--ignored=${options.ignored ? 'traditional' : 'no'}`,
    '--ignore-submodules=none',
  ]);
  return parseStatus(output.stdout);
}

/** Whether nothing would be lost with the folder: nothing staged, changed, in conflict or untracked. */
export function isClean(status: Status): boolean {
  return changedPaths(status).length === 0;
}

/** Every path with something that is not committed, sorted, each once. */
export function changedPaths(status: Status): string[] {
  return [...new Set([...status.staged, ...status.unstaged, ...status.unmerged, ...status.untracked])].sort();
}

/** Pure: parses `status --porcelain=v2 -z --branch`. Source: git-status(1), "Porcelain Format Version 2". */
export function parseStatus(output: Buffer): Status {
  const status: Status = {
    branch: undefined,
    head: undefined,
    upstream: undefined,
    ahead: undefined,
    behind: undefined,
    staged: [],
    unstaged: [],
    unmerged: [],
    untracked: [],
    ignored: [],
  };
  const fields = splitNul(output).map(decodePath);
  for (let at = 0; at < fields.length; at += 1) {
    const field = fields[at] ?? '';
    const kind = field[0];
    if (kind === '#') header(status, field);
    else if (kind === '?') status.untracked.push(field.slice(2));
    else if (kind === '!') status.ignored.push(field.slice(2));
    else if (kind === 'u') status.unmerged.push(afterSpaces(field, 10));
    else if (kind === '1' || kind === '2') {
      const path = afterSpaces(field, kind === '1' ? 8 : 9);
      if (field[2] !== '.') status.staged.push(path);
      if (field[3] !== '.') status.unstaged.push(path);
      // A rename is followed by its old path as a field of its own.
      if (kind === '2') at += 1;
    }
  }
  return status;
}

function header(status: Status, field: string): void {
  const [, name, ...rest] = field.split(' ');
  const value = rest.join(' ');
  if (name === 'branch.oid') status.head = value === '(initial)' ? undefined : value;
  else if (name === 'branch.head') status.branch = value === '(detached)' ? undefined : value;
  else if (name === 'branch.upstream') status.upstream = value;
  else if (name === 'branch.ab') {
    const counts = /^\+(\d+) -(\d+)$/.exec(value);
    status.ahead = Number(counts?.[1]);
    status.behind = Number(counts?.[2]);
  }
}

/** What follows the `count`-th space: the path, which may hold spaces itself. */
function afterSpaces(field: string, count: number): string {
  let at = -1;
  for (let seen = 0; seen < count; seen += 1) at = field.indexOf(' ', at + 1);
  return field.slice(at + 1);
}
