import { existsSync, realpathSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FairleadError } from '../protocol/errors.ts';
import { type Git, type GitOutput, gitFailure, textOf } from './git.ts';
import { listWorktrees } from './worktree-list.ts';

/** A repository as it is seen from one folder. */
export interface Repository {
  /** git in the main checkout, or where there is none in the bare repository: outlives every worktree. */
  readonly git: Git;
  /** The folder that was asked for, symbolic links resolved. */
  readonly folder: string;
  /** Root of the checkout that the folder lies in. */
  readonly topLevel: string;
  /** The folder below `topLevel`: '' or as `packages/api`. Becomes the agent's folder in a worktree. */
  readonly prefix: string;
  /** What all worktrees share, symbolic links resolved; tells repositories apart. */
  readonly commonDir: string;
  /** Private git folder of the checkout at `topLevel`. */
  readonly gitDir: string;
  /** The main checkout; undefined for a bare repository, seen from a linked worktree of it. */
  readonly mainCheckout: string | undefined;
  readonly objectFormat: 'sha1' | 'sha256';
}

/** Where a checkout stands. */
export interface Head {
  /** Undefined while there is no commit. */
  readonly commit: string | undefined;
  /** Short name of the branch; undefined when HEAD is detached. */
  readonly branch: string | undefined;
}

/**
 * The repository that `folder` lies in. A linked worktree of a bare repository is fine.
 * @throws FairleadError `repo.missing` (no folder, no repository), `repo.unsafe` (another user's), `repo.bare`,
 * `git.missing`, `git.failed`
 */
export async function openRepository(folder: string, git: Git): Promise<Repository> {
  const real = await realpath(folder).catch((cause: unknown) => {
    throw new FairleadError('repo.missing', `There is no folder ${folder}.`, {
      hint: 'Name a folder of a git repository.',
      cause,
    });
  });
  const here = git.in(real);
  const flags = await here.attempt([
    'rev-parse',
    '--is-bare-repository',
    '--is-inside-work-tree',
    '--show-object-format',
  ]);
  if (flags.exitCode !== 0) throw notARepository(real, flags);
  const [bare, insideWorkTree, objectFormat] = textOf(flags).split('\n');
  if (insideWorkTree !== 'true' && bare === 'true') throw bareRepository(real);
  if (insideWorkTree !== 'true') return openRepository(await checkoutOfGitDir(here), git);

  // One call each: a path may hold a newline.
  const path = (flag: string) => here.text(['rev-parse', '--path-format=absolute', flag]);
  const [topLevel, prefix, commonDir, gitDir] = await Promise.all([
    path('--show-toplevel'),
    here.text(['rev-parse', '--show-prefix']),
    path('--git-common-dir').then((each) => realpath(each)),
    path('--absolute-git-dir').then((each) => realpath(each)),
  ]);
  const mainCheckout = gitDir === commonDir ? topLevel : await mainCheckoutOf(here, commonDir);
  return {
    git: mainCheckout === undefined ? gitInBare(git, commonDir) : git.in(mainCheckout),
    folder: real,
    topLevel,
    prefix: prefix.replace(/\/$/, ''),
    commonDir,
    gitDir,
    mainCheckout,
    objectFormat: objectFormat === 'sha256' ? 'sha256' : 'sha1',
  };
}

/**
 * The repository of which a checkout was known to be at `main`. Another one in its place is not taken for it.
 * @throws FairleadError `repo.missing` (moved, deleted, another is there), `git.missing`, `git.failed`
 */
export async function openKnownRepository(
  known: { main: string; common_dir: string },
  git: Git,
): Promise<Repository> {
  requireRepository(known);
  const repository = await openRepository(known.main, git).catch((error: unknown) => {
    if (error instanceof FairleadError && error.code === 'repo.missing') throw goneRepository(known, error);
    throw error;
  });
  if (repository.commonDir !== realpathOr(known.common_dir)) throw goneRepository(known);
  return repository;
}

/** @throws FairleadError `repo.missing` when the repository is not where it was. Looks at files only. */
export function requireRepository(known: { main: string; common_dir: string }): void {
  if (!isRepositoryThere(known.common_dir) || !existsSync(known.main)) throw goneRepository(known);
}

/** Whether a repository has its own folder where it was. Looks at files only. */
export function isRepositoryThere(commonDir: string): boolean {
  return existsSync(join(commonDir, 'HEAD'));
}

function goneRepository({ main }: { main: string }, cause?: unknown): FairleadError {
  return new FairleadError('repo.missing', `The repository ${main} is gone: it was moved or deleted.`, {
    hint: 'Move it back to its place, and everything goes on.',
    ...(cause === undefined ? {} : { cause }),
  });
}

function realpathOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The HEAD of the checkout that `git` is bound to. */
export async function readHead(git: Git): Promise<Head> {
  const [symbolic, commit] = await Promise.all([
    git.attempt(['symbolic-ref', '--quiet', 'HEAD']),
    git.attempt(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']),
  ]);
  if (symbolic.exitCode > 1) throw gitFailure(git.folder, ['symbolic-ref', 'HEAD'], symbolic);
  return {
    commit: commit.exitCode === 0 ? textOf(commit) : undefined,
    branch: symbolic.exitCode === 0 ? textOf(symbolic).replace(/^refs\/heads\//, '') : undefined,
  };
}

/**
 * The HEAD of a checkout with at least one commit.
 * @throws FairleadError `repo.no-commit`
 */
export async function requireCommit(git: Git): Promise<Head & { commit: string }> {
  const head = await readHead(git);
  if (head.commit === undefined) {
    throw new FairleadError('repo.no-commit', `The repository at ${git.folder} has no commit yet.`, {
      hint: 'Make a first commit: git commit --allow-empty -m "Start"',
    });
  }
  return { ...head, commit: head.commit };
}

/** Whether the history ends early (`git clone --depth`): merge bases may be missing. */
export async function isShallow(git: Git): Promise<boolean> {
  return (await git.text(['rev-parse', '--is-shallow-repository'])) === 'true';
}

/** git in the repository itself, whatever `safe.bareRepository` says about finding one by accident. */
function gitInBare(git: Git, commonDir: string): Git {
  return git.in(commonDir).withGlobal('-c', 'safe.bareRepository=all');
}

/** The main checkout seen from a linked worktree. Undefined when the repository is bare or it cannot be told. */
async function mainCheckoutOf(git: Git, commonDir: string): Promise<string | undefined> {
  const [main] = await listWorktrees(git);
  if (main === undefined || main.bare) return undefined;
  // In a submodule and with a separate git folder the list names the git folder; `core.worktree` knows better.
  const candidates = [main.path, dirname(commonDir)];
  const configured = await git.in(commonDir).attempt(['rev-parse', '--show-toplevel']);
  if (configured.exitCode === 0) candidates.unshift(textOf(configured));
  for (const candidate of candidates) {
    const own = await git
      .in(candidate)
      .attempt(['rev-parse', '--path-format=absolute', '--absolute-git-dir']);
    if (own.exitCode !== 0) continue;
    const inside = await git.in(candidate).attempt(['rev-parse', '--is-inside-work-tree']);
    if (textOf(inside) === 'true' && (await realpath(textOf(own))) === commonDir) return candidate;
  }
  return undefined;
}

/** For a folder inside `.git`: the checkout that it belongs to. */
async function checkoutOfGitDir(git: Git): Promise<string> {
  const [main] = await listWorktrees(git);
  if (main === undefined || main.bare || main.path === git.folder) throw bareRepository(git.folder);
  return main.path;
}

function bareRepository(folder: string): FairleadError {
  return new FairleadError('repo.bare', `${folder} is a bare repository: it has no files to work on.`, {
    hint: 'Open a worktree of it: git worktree add ../checkout',
  });
}

function notARepository(folder: string, output: GitOutput): FairleadError {
  if (output.stderr.includes('dubious ownership')) {
    return new FairleadError('repo.unsafe', `The repository at ${folder} belongs to another user.`, {
      hint: `If you trust it: git config --global --add safe.directory ${folder}`,
    });
  }
  if (output.stderr.includes('not a git repository')) {
    return new FairleadError('repo.missing', `${folder} is not in a git repository.`, {
      hint: 'Open a folder of a repository, or make one: git init',
    });
  }
  return gitFailure(folder, ['rev-parse'], output);
}
