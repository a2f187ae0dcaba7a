import { sleep } from '../platform/clock.ts';
import type { Environment } from '../platform/environment.ts';
import type { Deadline } from '../platform/patience.ts';
import { FairleadError } from '../protocol/errors.ts';
import { type Children, type Dialogue, systemChildren } from './children.ts';
import { decodePath, splitNul } from './names.ts';

export interface GitSetup {
  /** Environment of the person; every `GIT_*` that points at another repository is taken out. */
  environment: Environment;
  children?: Children;
  /**
   * Limits of time for what talks to a remote, each standing still while a person is asked for it. Once `asking` aborts
   * nobody is asked any more. Default: plain ones.
   */
  deadline?: ((ms: number, asking?: AbortSignal) => Deadline) | undefined;
  /** The git to run; default `git` on the PATH of `environment`. */
  binary?: string;
}

export interface GitOptions {
  input?: string | Uint8Array;
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Variables set on top of the environment, for this call alone. */
  env?: Readonly<Record<string, string>>;
  /** `-c NAME=VALUE` settings, for this call alone. */
  config?: Readonly<Record<string, string>>;
  maxBytes?: number;
}

/** A git that ran to its end. */
export interface GitOutput {
  /** 0–255. */
  exitCode: number;
  stdout: Buffer;
  stderr: string;
}

type Manner = 'plumbing' | 'person';

/** Variables of git that a person may have set for all repositories. Any other would change what we do. */
const KEPT =
  /^GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|SSL_\w+|HTTP_\w+|PROXY_\w+|ALLOW_PROTOCOL|(AUTHOR|COMMITTER)_(NAME|EMAIL))$/;

/** Hooks, file system monitors and background upkeep of the person stay out of what Fairlead does on its own. */
const PLUMBING = [
  '--no-optional-locks',
  '-c',
  'core.hooksPath=/dev/null',
  '-c',
  'core.fsmonitor=false',
  '-c',
  'gc.auto=0',
  '-c',
  'maintenance.auto=false',
];
/** The person's hooks, signing and file system monitor apply; upkeep would outlive the command. */
const PERSON = ['-c', 'gc.auto=0', '-c', 'maintenance.auto=false'];

/**
 * What git says before it does anything when it meets a worktree that another git is just making: its folder is there,
 * what belongs into it not yet. It is run again. Source: `get_common_dir` in git's setup.c, 2.39.
 */
const HALF_MADE_WORKTREE = /^fatal: failed to read .*[/]worktrees[/][^/]+[/]commondir/m;
const HALF_MADE_TRIES = 20;
const HALF_MADE_MS = 25;

/** git, bound to a folder and a clean environment. Cheap to make; holds no process. */
export class Git {
  readonly folder: string;
  readonly setup: GitSetup;
  readonly #manner: Manner;
  readonly #global: readonly string[];
  readonly #environment: Record<string, string>;

  constructor(folder: string, setup: GitSetup, manner: Manner = 'plumbing', global: readonly string[] = []) {
    this.folder = folder;
    this.setup = setup;
    this.#manner = manner;
    this.#global = global;
    this.#environment = manner === 'plumbing' ? plumbingEnvironment(setup) : personEnvironment(setup);
  }

  /** The same git in another folder. Options before the command (as `--git-dir`) are not taken along. */
  in(folder: string): Git {
    return new Git(folder, this.setup, this.#manner);
  }

  /** git as the person runs it: their hooks and their signing apply. For their commits and pushes only. */
  asPerson(): Git {
    return new Git(this.folder, this.setup, 'person', this.#global);
  }

  /**
   * For a repository that may be anybody's: what it lacks is not fetched, which would run programs that its own
   * configuration names.
   */
  offline(): Git {
    const environment = { ...this.setup.environment, GIT_ALLOW_PROTOCOL: 'none' };
    return new Git(this.folder, { ...this.setup, environment }, this.#manner, this.#global);
  }

  /** With more options before the command, as `--git-dir=…`. */
  withGlobal(...options: string[]): Git {
    return new Git(this.folder, this.setup, this.#manner, [...this.#global, ...options]);
  }

  /**
   * Runs to the end and returns whatever the exit code.
   * @throws FairleadError `git.missing` when git is not there; `git.failed` when there is no exit code to judge by:
   * killed, timed out (data.failure `timed-out`), cancelled, too much output
   */
  async attempt(args: readonly string[], options: GitOptions = {}): Promise<GitOutput> {
    for (let again = 0; ; again += 1) {
      const output = await this.#once(args, options);
      if (output.exitCode !== 128 || again === HALF_MADE_TRIES) return output;
      if (!HALF_MADE_WORKTREE.test(output.stderr)) return output;
      await sleep(HALF_MADE_MS);
    }
  }

  async #once(args: readonly string[], options: GitOptions): Promise<GitOutput> {
    const result = await this.#children.run(this.#binary, this.#arguments(args, options), {
      env: { ...this.#environment, ...options.env },
      ...(options.input === undefined ? {} : { input: options.input }),
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(options.maxBytes === undefined ? {} : { maxBytes: options.maxBytes }),
    });
    if (result.failure === 'not-found' || result.failure === 'not-started') {
      throw new FairleadError('git.missing', `git cannot be started (${result.stderr || 'not found'}).`, {
        hint: 'Install git 2.38 or newer and make sure it is on your PATH.',
      });
    }
    if (result.exitCode === undefined) {
      throw gitFailure(this.folder, args, { ...result, exitCode: undefined });
    }
    return { exitCode: result.exitCode, stdout: result.stdout, stderr: result.stderr };
  }

  /** As {@link attempt}, and an exit code other than 0 is `git.failed` (`disk.full` when git says so). */
  async run(args: readonly string[], options: GitOptions = {}): Promise<GitOutput> {
    const output = await this.attempt(args, options);
    if (output.exitCode !== 0) throw gitFailure(this.folder, args, output);
    return output;
  }

  /** stdout without its last newline. */
  async text(args: readonly string[], options: GitOptions = {}): Promise<string> {
    return textOf(await this.run(args, options));
  }

  async lines(args: readonly string[], options: GitOptions = {}): Promise<string[]> {
    const text = await this.text(args, options);
    return text === '' ? [] : text.split('\n');
  }

  /** The fields of `-z` output, as paths (see {@link decodePath}). */
  async fields(args: readonly string[], options: GitOptions = {}): Promise<string[]> {
    return splitNul((await this.run(args, options)).stdout).map(decodePath);
  }

  /** Starts a git that is talked to over stdin and stdout. */
  open(args: readonly string[], options: GitOptions = {}): Dialogue {
    return this.#children.open(this.#binary, this.#arguments(args, options), {
      env: { ...this.#environment, ...options.env },
    });
  }

  get #children(): Children {
    return this.setup.children ?? systemChildren;
  }

  get #binary(): string {
    return this.setup.binary ?? 'git';
  }

  #arguments(args: readonly string[], options: GitOptions): string[] {
    const settings = Object.entries(options.config ?? {}).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    const manner = this.#manner === 'plumbing' ? PLUMBING : PERSON;
    return ['-C', this.folder, ...manner, ...settings, ...this.#global, ...args];
  }
}

/** stdout without its last newline. */
export function textOf(output: GitOutput): string {
  const text = output.stdout.toString('utf8');
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

/** The error for a git that ended otherwise than expected. Keeps the last lines of what it said. */
export function gitFailure(
  folder: string,
  args: readonly string[],
  output: {
    exitCode: number | undefined;
    stderr: string;
    signal?: string | undefined;
    failure?: string | undefined;
  },
): FairleadError {
  const stderr = tail(output.stderr);
  const data = {
    command: ['git', ...args],
    folder,
    exitCode: output.exitCode ?? null,
    failure: output.failure ?? output.signal ?? null,
    stderr,
  };
  if (/No space left on device|Disk quota exceeded/.test(output.stderr)) {
    return new FairleadError('disk.full', `The disk is full: \`git ${args[0]}\` could not write.`, {
      hint: 'Free some space and try again.',
      data,
    });
  }
  const how =
    output.exitCode === undefined
      ? (output.failure ?? `killed by ${output.signal}`)
      : `exit code ${output.exitCode}`;
  const said = firstLine(stderr);
  return new FairleadError('git.failed', `\`git ${args[0]}\` failed (${how})${said ? `: ${said}` : '.'}`, {
    hint: `Run \`git -C ${folder} ${args[0]} …\` by hand to see more.`,
    data,
  });
}

/** Whether a git was ended because it took longer than it was given. */
export function isTimeout(error: unknown): boolean {
  if (!(error instanceof FairleadError)) return false;
  const { data } = error;
  return typeof data === 'object' && data !== null && 'failure' in data && data.failure === 'timed-out';
}

/** At most the last `lines` lines, of at most 4,000 characters. */
export function tail(text: string, lines = 20): string {
  return text.trimEnd().split('\n').slice(-lines).join('\n').slice(-4_000);
}

function firstLine(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  const line = lines.find((each) => /^(fatal|error):/.test(each)) ?? lines[0] ?? '';
  return line.replace(/^(fatal|error): /, '');
}

function plumbingEnvironment(setup: GitSetup): Record<string, string> {
  return { ...cleaned(setup.environment), LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' };
}

/** Messages in English, so that they can be told apart, but the person's character set, which their hooks may need. */
function personEnvironment(setup: GitSetup): Record<string, string> {
  const { LC_ALL, ...environment } = cleaned(setup.environment);
  if (LC_ALL !== undefined) environment.LANG = LC_ALL;
  return { ...environment, LC_MESSAGES: 'C', LANGUAGE: 'C', GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: 'true' };
}

function cleaned(environment: Environment): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) continue;
    if (name.startsWith('GIT_') && !KEPT.test(name)) continue;
    clean[name] = value;
  }
  return clean;
}
