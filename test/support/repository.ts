import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Git, type GitSetup } from '../../sidecar/git/git.ts';
import { openRepository, type Repository } from '../../sidecar/git/repository.ts';
import { removeFolder } from './remove-folder.ts';

/** What a path should hold: text, bytes, a mode, a symbolic link; null removes it. */
export type Content = string | Buffer | null | { link: string } | { text: string; executable: true };
export type Files = Record<string, Content>;

export interface RepositoryOptions {
  objectFormat?: 'sha1' | 'sha256';
  /** Default `main`. */
  branch?: string;
  /** Leave the identity out. */
  anonymous?: boolean;
}

/** Name and address under which everything is committed. */
export const PERSON = { name: 'Ada Lovelace', email: 'ada@example.com' };

/**
 * A real repository in a temporary folder, cut off from the machine's git configuration. Every helper runs git at
 * once and returns what is useful next. Dispose it (`using repository = …`), and all that was made from it goes.
 */
export class TestRepository implements Disposable {
  /** Holds the repository, its remote, its clones and worktrees, and a home. Symbolic links resolved. */
  readonly root: string;
  readonly folder: string;
  /** Whole environment of a person who works in it. */
  readonly environment: Record<string, string>;

  private constructor(root: string, folder: string, environment: Record<string, string>) {
    this.root = root;
    this.folder = folder;
    this.environment = environment;
  }

  /** A repository without a commit. */
  static empty(options: RepositoryOptions = {}): TestRepository {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'fairlead-repo-')));
    const home = join(root, 'home');
    mkdirSync(home);
    const environment: Record<string, string> = {
      PATH: process.env.PATH ?? '',
      HOME: home,
      TMPDIR: root,
      LANG: 'C.UTF-8',
      GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
    };
    writeFileSync(
      join(home, '.gitconfig'),
      [
        '[init]\n\tdefaultBranch = main',
        '[commit]\n\tgpgSign = false',
        '[protocol "file"]\n\tallow = always',
        '[advice]\n\tdetachedHead = false',
        '[gc]\n\tauto = 0',
        ...(options.anonymous ? [] : [`[user]\n\tname = ${PERSON.name}\n\temail = ${PERSON.email}`]),
        '',
      ].join('\n'),
    );
    const repository = new TestRepository(root, join(root, 'repo'), environment);
    mkdirSync(repository.folder);
    const format = options.objectFormat === undefined ? [] : [`--object-format=${options.objectFormat}`];
    repository.git('init', '--quiet', `--initial-branch=${options.branch ?? 'main'}`, ...format);
    return repository;
  }

  /** A repository with one commit of `files`. */
  static with(files: Files = { 'README.md': '# Demo\n' }, options: RepositoryOptions = {}): TestRepository {
    const repository = TestRepository.empty(options);
    repository.commit(files, 'Start');
    return repository;
  }

  /** The same repository seen from another folder of it or a clone: the helpers run there. */
  at(folder: string): TestRepository {
    return new TestRepository(this.root, folder, this.environment);
  }

  /** Runs git as the person would; stdout without its last newline. Throws when git fails. */
  git(...args: string[]): string {
    return this.gitWith({}, ...args);
  }

  /** As {@link git}, with input and more environment. */
  gitWith(options: { input?: string | Buffer; env?: Record<string, string> }, ...args: string[]): string {
    const output = execFileSync('git', args, {
      cwd: this.folder,
      env: { ...this.environment, ...options.env },
      input: options.input ?? '',
      stdio: ['pipe', 'pipe', 'pipe'],
      maxBuffer: 256 * 1024 * 1024,
    }).toString('utf8');
    return output.endsWith('\n') ? output.slice(0, -1) : output;
  }

  /** Runs git and returns the exit code, whatever it is. */
  tryGit(...args: string[]): { exitCode: number | null; stdout: string; stderr: string } {
    const output = spawnSync('git', args, { cwd: this.folder, env: this.environment, encoding: 'utf8' });
    return { exitCode: output.status, stdout: output.stdout, stderr: output.stderr };
  }

  write(files: Files): this {
    for (const [path, content] of Object.entries(files)) {
      const file = join(this.folder, path);
      if (content === null) {
        rmSync(file, { recursive: true, force: true });
        continue;
      }
      mkdirSync(dirname(file), { recursive: true });
      if (lstatSync(file, { throwIfNoEntry: false })?.isFile() === false) rmSync(file, { recursive: true });
      if (typeof content === 'string' || Buffer.isBuffer(content)) {
        writeFileSync(file, content);
      } else if ('link' in content) {
        rmSync(file, { force: true });
        symlinkSync(content.link, file);
      } else {
        writeFileSync(file, content.text);
        chmodSync(file, 0o755);
      }
    }
    return this;
  }

  /** Undefined when there is no such file. */
  read(path: string): string | undefined {
    const file = join(this.folder, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  }

  /** Writes, stages everything and commits. @returns the commit's id */
  commit(files: Files, message = 'Change', env: Record<string, string> = {}): string {
    this.write(files);
    this.git('add', '--all', '--force', '--sparse', '.');
    this.gitWith({ env }, 'commit', '--quiet', '--allow-empty', '--no-verify', '-m', message);
    return this.tip();
  }

  /** The commit that `name` stands for. */
  tip(name = 'HEAD'): string {
    return this.git('rev-parse', '--verify', `${name}^{commit}`);
  }

  tree(name = 'HEAD'): string {
    return this.git('rev-parse', '--verify', `${name}^{tree}`);
  }

  /** Creates a branch and switches to it. */
  branch(name: string, from = 'HEAD'): this {
    this.git('switch', '--quiet', '--no-track', '-c', name, from);
    return this;
  }

  switch(name: string): this {
    this.git('switch', '--quiet', name);
    return this;
  }

  /** Commits `files` on a branch (made at `from` when it does not exist) and comes back. @returns the commit */
  commitOn(branch: string, files: Files, message = `Change on ${branch}`, from = 'HEAD'): string {
    const here = this.git('symbolic-ref', '--short', 'HEAD');
    if (this.tryGit('rev-parse', '--verify', '--quiet', `refs/heads/${branch}`).exitCode === 0)
      this.switch(branch);
    else this.branch(branch, from);
    const commit = this.commit(files, message);
    this.switch(here);
    return commit;
  }

  /** Text of a file in a commit; undefined when it has none. */
  show(commit: string, path: string): string | undefined {
    const output = spawnSync('git', ['cat-file', 'blob', `${commit}:${path}`], {
      cwd: this.folder,
      env: this.environment,
      encoding: 'utf8',
    });
    return output.status === 0 ? output.stdout : undefined;
  }

  /** Subjects of the first-parent history, newest first. */
  log(name = 'HEAD'): string[] {
    return this.git('log', '--first-parent', '--format=%s', name, '--').split('\n');
  }

  /** `git status --porcelain`: '' when clean. */
  status(): string {
    return this.git('status', '--porcelain', '--untracked-files=all');
  }

  /** A bare repository on disk, set as `origin`, with the current branch pushed and followed. */
  withRemote(name = 'origin'): TestRepository {
    const folder = join(this.root, `${name}.git`);
    const format = this.git('rev-parse', '--show-object-format');
    mkdirSync(folder);
    const remote = this.at(folder);
    const branch = this.git('symbolic-ref', '--short', 'HEAD');
    remote.git('init', '--quiet', '--bare', `--initial-branch=${branch}`, `--object-format=${format}`);
    this.git('remote', 'add', name, folder);
    this.git('push', '--quiet', '--set-upstream', name, branch);
    return remote;
  }

  /** Another person's clone of the remote. */
  clone(name = 'second', ...options: string[]): TestRepository {
    const folder = join(this.root, name);
    this.git('clone', '--quiet', ...options, this.git('remote', 'get-url', 'origin'), folder);
    const clone = this.at(folder);
    clone.git('config', 'user.name', 'Grace Hopper');
    clone.git('config', 'user.email', 'grace@example.com');
    return clone;
  }

  /** A linked worktree on a branch of its own. */
  worktree(name: string, branch = name, from = 'HEAD'): TestRepository {
    const folder = join(this.root, name);
    this.git('worktree', 'add', '--quiet', '--no-track', '-b', branch, folder, from);
    return this.at(folder);
  }

  /** An executable hook, a POSIX shell script without its first line. */
  hook(name: string, script: string): this {
    const folder = this.git('rev-parse', '--path-format=absolute', '--git-path', 'hooks');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
    return this;
  }

  config(name: string, value: string): this {
    this.git('config', name, value);
    return this;
  }

  /** What Fairlead's git layer is given. */
  setup(more: Partial<GitSetup> = {}): GitSetup {
    return { environment: this.environment, ...more };
  }

  /** Fairlead's git in this folder. */
  fairleadGit(more: Partial<GitSetup> = {}): Git {
    return new Git(this.folder, this.setup(more));
  }

  open(more: Partial<GitSetup> = {}): Promise<Repository> {
    return openRepository(this.folder, this.fairleadGit(more));
  }

  /** Everything below the git folder that a finished operation must not leave: locks and half-made state. */
  leftovers(): string[] {
    const common = this.git('rev-parse', '--path-format=absolute', '--git-common-dir');
    return readdirSync(common, { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.startsWith('objects'))
      .filter((path) => /(\.lock|MERGE_HEAD|rebase-merge|rebase-apply|fairlead\/swaps\/.+)$/.test(path))
      .sort();
  }

  /** Every loose and packed object, sorted. */
  objects(): string[] {
    return this.git('cat-file', '--batch-check=%(objectname)', '--batch-all-objects').split('\n').sort();
  }

  [Symbol.dispose](): void {
    removeFolder(this.root);
  }
}
