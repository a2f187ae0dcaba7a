import { existsSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CLAUDE_CODE } from '../agents/claude/definition.ts';
import { claudeConfigDir } from '../agents/claude/transcript-path.ts';
import { claudeVersion, INSTALL_CLAUDE, isTooOld, OLDEST_CLAUDE } from '../agents/claude/version.ts';
import { Git } from '../git/git.ts';
import { readIdentity } from '../git/identity.ts';
import { openRepository, requireCommit } from '../git/repository.ts';
import { gitVersion, isAtLeast, LANDING_NEEDS_GIT, SESSIONS_NEED_GIT } from '../git/version.ts';
import { BUILD } from '../platform/build.ts';
import { readConfig, readRepositoryConfig, withoutEffect } from '../platform/config.ts';
import type { NodeRuntime } from '../platform/node-runtime.ts';
import type { Paths } from '../platform/paths.ts';
import { systemProcesses } from '../platform/processes.ts';
import { findProgram } from '../platform/programs.ts';
import { isOnNetwork } from '../platform/store.ts';
import { asFairleadError, type FairleadError } from '../protocol/errors.ts';
import type { Finding } from '../protocol/protocol.ts';
import type { HostHello } from '../protocol/ptywire.ts';

/** What is looked at, and whose. */
export interface Surroundings {
  paths: Paths;
  /** The folder that the person stands in, to look at its repository. */
  folder: string | null;
  /** The person's environment. */
  environment: Readonly<Record<string, string>>;
}

export interface Inspection extends Surroundings {
  ptyhost: HostHello | undefined;
  /** Why the ptyhost cannot be told of. */
  silent: FairleadError | undefined;
  node: NodeRuntime;
}

/** Below this much free space worktrees and databases are at risk, in bytes. */
const LOW_DISK = 1024 ** 3;

/** Everything that Fairlead needs, each with what to do when it is not there. */
export async function inspect(inspection: Inspection): Promise<Finding[]> {
  const { node, ptyhost, silent } = inspection;
  return [
    ok('node', `${node.version} at ${node.file} (${node.from})`),
    ok('sidecar', `${BUILD.version} (${BUILD.id}), pid ${process.pid}`),
    silent !== undefined
      ? failed('ptyhost', silent)
      : ptyhost === undefined
        ? ok('ptyhost', 'not running; it starts with the first session')
        : ok('ptyhost', `${ptyhost.host} (${ptyhost.build}), pid ${ptyhost.pid}`),
    ...(await inspectSurroundings(inspection)),
  ];
}

/** What can be seen without a sidecar: git, the repository, the agent, the disk. */
export async function inspectSurroundings(surroundings: Surroundings): Promise<Finding[]> {
  return [
    await gitFinding(surroundings),
    await identityFinding(surroundings),
    personConfigFinding(surroundings.paths),
    ...(await repositoryFindings(surroundings)),
    ...(await claudeFindings(surroundings)),
    diskFinding(surroundings.paths),
    homeFinding(surroundings.paths),
  ];
}

/** A part that does not do what it should, with what to do about it. */
function failed(check: string, error: unknown): Finding {
  const { message, hint } = asFairleadError(error);
  return problem(
    check,
    message,
    hint ?? 'Put right what the message names, then run `fairlead doctor` again.',
  );
}

async function gitFinding({ environment }: Surroundings): Promise<Finding> {
  try {
    const version = await gitVersion(new Git('/', { environment }));
    if (!isAtLeast(version, SESSIONS_NEED_GIT)) {
      return problem('git', `${version} is too old.`, `Install git ${LANDING_NEEDS_GIT} or newer.`);
    }
    return isAtLeast(version, LANDING_NEEDS_GIT)
      ? ok('git', version)
      : warning(
          'git',
          `${version} cannot land.`,
          `Install git ${LANDING_NEEDS_GIT} or newer; sessions work.`,
        );
  } catch (error) {
    return failed('git', error);
  }
}

async function identityFinding({ environment, folder }: Surroundings): Promise<Finding> {
  try {
    const { author } = await readIdentity(new Git(folder ?? '/', { environment }));
    return ok('identity', `${author.name} <${author.email}>`);
  } catch (error) {
    return failed('identity', error);
  }
}

async function repositoryFindings({ environment, folder }: Surroundings): Promise<Finding[]> {
  if (folder === null) return [];
  try {
    const repository = await openRepository(folder, new Git(folder, { environment }).offline());
    const head = await requireCommit(repository.git);
    return [
      ok('repository', `${repository.topLevel}${head.branch === undefined ? '' : ` on ${head.branch}`}`),
      ...repositoryConfigFindings(repository.mainCheckout ?? repository.topLevel),
    ];
  } catch (error) {
    const { message, hint } = asFairleadError(error);
    return [warning('repository', message, hint ?? 'Open a folder of a git repository.')];
  }
}

function personConfigFinding({ home }: Paths): Finding {
  const file = join(home, 'config.toml');
  try {
    const { repository } = readConfig(file);
    const gone = Object.keys(repository).filter((main) => !existsSync(main));
    if (gone.length > 0) {
      return warning(
        'config',
        `${file} has settings for ${gone.join(', ')}, which is not there.`,
        'Name the main checkout as `fairlead show` has it, or remove the entry.',
      );
    }
    return ok('config', existsSync(file) ? file : `none; yours would be ${file}`);
  } catch (error) {
    return failed('config', error);
  }
}

/** What a repository carries is read for everybody who works on it: a fault in it stops them all. */
function repositoryConfigFindings(main: string): Finding[] {
  const file = join(main, '.fairlead', 'config.toml');
  try {
    const idle = withoutEffect(readRepositoryConfig(file));
    if (idle.length > 0) {
      return [
        warning(
          'repo config',
          `${file} sets ${idle.join(', ')}, which does nothing there.`,
          'Others write that file, too: set what runs in config.toml in the home of Fairlead.',
        ),
      ];
    }
    return existsSync(file) ? [ok('repo config', file)] : [];
  } catch (error) {
    return [failed('repo config', error)];
  }
}

/** How long `claude auth status` may take, in milliseconds. */
const SIGNED_IN_WITHIN_MS = 15_000;

async function claudeFindings({ environment }: Surroundings): Promise<Finding[]> {
  const program = findProgram(CLAUDE_CODE.command, environment);
  if (program === undefined) {
    return [problem('claude', 'not found on your PATH', `${INSTALL_CLAUDE}, then open a new terminal.`)];
  }
  const version = await claudeVersion(program, environment, systemProcesses);
  if (version.kind === 'fails') {
    return [problem('claude', `${program} does not run: ${version.text}`, INSTALL_CLAUDE)];
  }
  const told = `${version.text} at ${program}`;
  const found =
    version.kind === 'known' && isTooOld(version.version)
      ? problem('claude', `${told} is too old.`, `Update it to ${OLDEST_CLAUDE} or newer: claude update`)
      : ok('claude', told);
  const signedIn = await systemProcesses.run(program, ['auth', 'status'], {
    env: environment,
    timeoutMs: SIGNED_IN_WITHIN_MS,
  });
  const where = claudeConfigDir(environment) ?? '~/.claude';
  return [
    found,
    signedIn.exitCode === 0
      ? ok('signed in', where)
      : warning('signed in', `not signed in (${where})`, 'Run `claude` once and sign in.'),
  ];
}

function diskFinding(paths: Paths): Finding {
  const { bavail, bsize } = statfsSync(existing(paths.worktrees));
  const free = bavail * bsize;
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free for ${paths.worktrees}`;
  return free < LOW_DISK
    ? warning('disk', text, 'Free some space: worktrees are made there.')
    : ok('disk', text);
}

function homeFinding({ home }: Paths): Finding {
  if (!isOnNetwork(existing(home))) return ok('home', home);
  return warning(
    'home',
    `${home} is on a network file system.`,
    'Set FAIRLEAD_HOME to a folder on a local disk.',
  );
}

/** The nearest folder above that exists. */
function existing(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : existing(dirname(path));
}

function ok(check: string, found: string): Finding {
  return { check, state: 'ok', found, hint: null };
}

function warning(check: string, found: string, hint: string): Finding {
  return { check, state: 'warning', found, hint };
}

function problem(check: string, found: string, hint: string): Finding {
  return { check, state: 'problem', found, hint };
}
