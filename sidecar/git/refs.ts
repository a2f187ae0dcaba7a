import { FairleadError } from '../protocol/errors.ts';
import { type Git, gitFailure, textOf } from './git.ts';

/** What a compare-and-swap did. */
export type RefOutcome =
  | { kind: 'moved' }
  | { kind: 'lost' /** What it is instead; undefined: it does not exist. */; now: string | undefined };

export interface RefChange {
  /** Full name, as `refs/heads/main`. */
  ref: string;
  /** Undefined deletes it. */
  to: string | undefined;
  /** The value that it must have; undefined: it must not exist. */
  from: string | undefined;
}

export interface AheadBehind {
  /** Commits that the branch has and the base lacks. */
  ahead: number;
  /** Commits that the base has and the branch lacks. */
  behind: number;
}

export interface ListedRef {
  ref: string;
  id: string;
}

/** The full id of the commit that `name` stands for (branch, tag, id, `main~2`); undefined when there is none. */
export async function resolveCommit(git: Git, name: string): Promise<string | undefined> {
  return resolve(git, `${name}^{commit}`);
}

/** The full id of the object that `name` stands for; undefined when there is none. */
export async function resolve(git: Git, name: string): Promise<string | undefined> {
  const output = await git.attempt(['rev-parse', '--verify', '--quiet', '--end-of-options', name]);
  return output.exitCode === 0 ? textOf(output).split('\n').at(-1) : undefined;
}

/**
 * The value of exactly this ref (full name below `refs/`, nothing guessed); undefined when it does not exist.
 * @throws FairleadError `git.failed`, also for a damaged ref: that one is not missing
 */
export async function readRef(git: Git, ref: string): Promise<string | undefined> {
  const args = ['for-each-ref', '--format=%(objectname) %(refname)', ref];
  const output = await git.run(args);
  if (output.stderr.includes('ignoring broken ref')) throw gitFailure(git.folder, args, output);
  const line = textOf(output)
    .split('\n')
    .find((each) => each.endsWith(` ${ref}`));
  return line?.slice(0, line.indexOf(' '));
}

/** The commit that a branch is at; undefined when there is no such branch. */
export async function branchTip(git: Git, branch: string): Promise<string | undefined> {
  return readRef(git, `refs/heads/${branch}`);
}

export async function branchExists(git: Git, branch: string): Promise<boolean> {
  return (await readRef(git, `refs/heads/${branch}`)) !== undefined;
}

/**
 * Creates, moves or deletes one ref if it still has the value seen. The branch's reflog gets `message`.
 * @throws FairleadError `git.failed` when git could not tell (a lock, a full disk): the ref has not moved
 */
export async function updateRef(git: Git, change: RefChange, message: string): Promise<RefOutcome> {
  // An empty old value means "must not exist", whatever the object format.
  const old = change.from ?? '';
  const args =
    change.to === undefined
      ? ['update-ref', '-m', message, '-d', change.ref, old]
      : ['update-ref', '--create-reflog', '-m', message, change.ref, change.to, old];
  const output = await git.attempt(args);
  if (output.exitCode === 0) return { kind: 'moved' };
  const now = await readRef(git, change.ref);
  if (now !== change.from) return { kind: 'lost', now };
  throw gitFailure(git.folder, args, output);
}

/** Refs whose name begins with one of `prefixes` (whole components, as `refs/heads/` or `refs/fairlead/turns`). */
export async function listRefs(git: Git, ...prefixes: string[]): Promise<ListedRef[]> {
  const lines = await git.lines(['for-each-ref', '--format=%(objectname) %(refname)', ...prefixes]);
  return lines.map((line) => {
    const space = line.indexOf(' ');
    return { id: line.slice(0, space), ref: line.slice(space + 1) };
  });
}

/**
 * The branch that keeps `branch` from being created: a branch `fairlead` forbids every `fairlead/…`, and a branch
 * `a/b` forbids `a`. Undefined when nothing does. A branch of the same name does not count.
 */
export async function branchInTheWay(git: Git, branch: string): Promise<string | undefined> {
  const parts = branch.split('/');
  for (let length = 1; length < parts.length; length += 1) {
    const shorter = parts.slice(0, length).join('/');
    if (await branchExists(git, shorter)) return shorter;
  }
  const [longer] = await listRefs(git, `refs/heads/${branch}/`);
  return longer?.ref.replace(/^refs\/heads\//, '');
}

/**
 * @throws FairleadError `branch.namespace-taken` when another branch keeps `branch` from being created,
 * `params.invalid` when git takes no branch of this name
 */
export async function requireBranchName(git: Git, branch: string): Promise<void> {
  const valid = await git.attempt(['check-ref-format', '--branch', branch]);
  if (valid.exitCode !== 0 || branch.startsWith('-') || textOf(valid) !== branch) {
    throw new FairleadError('params.invalid', `git takes no branch called "${branch}".`, {
      hint: 'Use letters, digits, dashes and slashes.',
    });
  }
  const taken = await branchInTheWay(git, branch);
  if (taken === undefined) return;
  throw new FairleadError(
    'branch.namespace-taken',
    `The branch "${taken}" keeps git from creating "${branch}".`,
    {
      hint: 'Rename that branch, or set another prefix in config.toml: [branch] prefix = "fl/"',
      data: { branch: taken },
    },
  );
}

/** Whether every commit of `ancestor` is in `descendant`. A commit is its own ancestor. */
export async function isAncestor(git: Git, ancestor: string, descendant: string): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', ancestor, descendant];
  const output = await git.attempt(args);
  if (output.exitCode > 1) throw gitFailure(git.folder, args, output);
  return output.exitCode === 0;
}

/**
 * As {@link isAncestor}, for a commit that nothing may point at: one that git has tidied away is in no history.
 * @throws FairleadError `git.failed`
 */
export async function isInHistory(git: Git, commit: string, descendant: string): Promise<boolean> {
  try {
    return await isAncestor(git, commit, descendant);
  } catch (error) {
    const isGone = (await resolveCommit(git, commit)) === undefined;
    if (isGone && (await resolveCommit(git, descendant)) !== undefined) return false;
    throw error;
  }
}

/** The best common ancestor; undefined for unrelated histories. */
export async function mergeBase(git: Git, one: string, other: string): Promise<string | undefined> {
  const args = ['merge-base', one, other];
  const output = await git.attempt(args);
  if (output.exitCode > 1) throw gitFailure(git.folder, args, output);
  return output.exitCode === 0 ? textOf(output) : undefined;
}

export async function aheadBehind(git: Git, base: string, branch: string): Promise<AheadBehind> {
  const text = await git.text([
    'rev-list',
    '--left-right',
    '--count',
    '--end-of-options',
    `${base}...${branch}`,
  ]);
  const [behind, ahead] = text.split('\t').map(Number);
  return { ahead: ahead ?? 0, behind: behind ?? 0 };
}

/**
 * Ahead and behind of many branches against one base branch each, in one process: for-each-ref counts against the
 * upstream, which is set for this call alone. Branches or bases that do not exist are left out.
 */
export async function aheadBehindOfMany(
  git: Git,
  pairs: readonly { branch: string; base: string }[],
): Promise<Map<string, AheadBehind>> {
  const counts = new Map<string, AheadBehind>();
  if (pairs.length === 0) return counts;
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(pairs.length * 2) };
  pairs.forEach(({ branch, base }, at) => {
    env[`GIT_CONFIG_KEY_${at * 2}`] = `branch.${branch}.remote`;
    env[`GIT_CONFIG_VALUE_${at * 2}`] = '.';
    env[`GIT_CONFIG_KEY_${at * 2 + 1}`] = `branch.${branch}.merge`;
    env[`GIT_CONFIG_VALUE_${at * 2 + 1}`] = `refs/heads/${base}`;
  });
  const lines = await git.lines(
    [
      'for-each-ref',
      '--format=%(refname)%00%(upstream)%00%(upstream:track,nobracket)',
      ...pairs.map(({ branch }) => `refs/heads/${branch}`),
    ],
    { env },
  );
  for (const line of lines) {
    const [ref = '', upstream = '', track = ''] = line.split('\0');
    if (upstream === '' || track === 'gone') continue;
    counts.set(ref.replace(/^refs\/heads\//, ''), {
      ahead: Number(/ahead (\d+)/.exec(track)?.[1] ?? 0),
      behind: Number(/behind (\d+)/.exec(track)?.[1] ?? 0),
    });
  }
  return counts;
}
