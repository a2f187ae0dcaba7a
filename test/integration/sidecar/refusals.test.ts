import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findProgram } from '../../../sidecar/platform/programs.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { runMounted } from '../../support/mount-namespace.ts';
import { type RepositoryOptions, TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';
import { tracesOf } from '../../support/traces.ts';

const TIMEOUT = 60_000;

/** A person with a repository and a `claude` that must never be started: everything here is refused before. */
class Refusing implements AsyncDisposable {
  readonly repository: TestRepository;
  readonly fairlead: SidecarHarness;
  /** First on the PATH; programs put here are found before any other. */
  readonly programs: string;

  constructor(repository: TestRepository) {
    this.repository = repository;
    this.programs = join(repository.root, 'programs');
    mkdirSync(this.programs);
    this.program('claude', '[ "$1" = --version ] && echo "2.1.332 (Claude Code)" && exit 0; exit 1');
    this.fairlead = new SidecarHarness({
      ...repository.environment,
      PATH: `${this.programs}${delimiter}${repository.environment.PATH}`,
    });
  }

  static with(options: RepositoryOptions = {}): Refusing {
    return new Refusing(TestRepository.with({ 'README.md': '# Demo\n' }, options));
  }

  program(name: string, script: string): void {
    const file = join(this.programs, name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
  }

  /** The error of `fairlead ARGS`, run in the repository; fails when the command left anything behind. */
  async refusal(args: readonly string[], options: { cwd?: string; env?: Record<string, string> } = {}) {
    const before = await tracesOf(this.repository, this.fairlead);
    const error = await this.fairlead.error(args, { cwd: this.repository.folder, ...options });
    expect(await tracesOf(this.repository, this.fairlead)).toEqual(before);
    expect(error.message).toMatch(/[.?]$/);
    expect(error.hint).toBeTruthy();
    return error;
  }

  /** A session without an agent. */
  async session(...args: string[]): Promise<Session> {
    const { session } = await this.fairlead.json<{ session: Session }>(['new', '--no-start', ...args], {
      cwd: this.repository.folder,
    });
    return session;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fairlead[Symbol.asyncDispose]();
    this.repository[Symbol.dispose]();
  }
}

describe('new is refused, and leaves nothing half-made,', { timeout: TIMEOUT }, () => {
  it('outside of any repository', async () => {
    await using person = Refusing.with();
    const folder = join(person.repository.root, 'plain');
    mkdirSync(folder);
    expect(await person.refusal(['new', 'x'], { cwd: folder })).toMatchObject({
      code: 'repo.missing',
      message: `${folder} is not in a git repository.`,
      hint: expect.stringContaining('git init'),
      exit: 3,
    });
  });

  it('where there is no commit', async () => {
    await using person = new Refusing(TestRepository.empty());
    expect(await person.refusal(['new', 'x'])).toMatchObject({
      code: 'repo.no-commit',
      hint: expect.stringContaining('git commit --allow-empty'),
      exit: 1,
    });
  });

  it('on a detached HEAD, unless a base is named', async () => {
    await using person = Refusing.with();
    person.repository.git('switch', '--quiet', '--detach');
    expect(await person.refusal(['new', 'x'])).toMatchObject({
      code: 'repo.detached-head',
      hint: expect.stringContaining('--base main'),
      exit: 1,
    });
    expect(await person.session('x', '--base', 'main')).toMatchObject({ base: 'main' });
  });

  it('in a bare repository, but not in a linked worktree of one', async () => {
    await using person = Refusing.with();
    const { repository } = person;
    const bare = join(repository.root, 'bare.git');
    repository.git('clone', '--quiet', '--bare', repository.folder, bare);
    expect(await person.refusal(['new', 'x'], { cwd: bare })).toMatchObject({ code: 'repo.bare', exit: 1 });
    const linked = join(repository.root, 'linked');
    repository.at(bare).git('worktree', 'add', '--quiet', linked, 'main');
    const made = await person.fairlead.json<{ session: Session }>(['new', '--no-start', 'x'], {
      cwd: linked,
    });
    expect(made.session).toMatchObject({ repo: linked, base: 'main', branch: 'fairlead/x' });
    expect(repository.at(made.session.worktree).git('branch', '--show-current')).toBe('fairlead/x');
    expect(await person.fairlead.json(['archive', made.session.id])).toMatchObject({ state: 'archived' });
  });

  it('when the base does not exist, or is no branch', async () => {
    await using person = Refusing.with();
    expect(await person.refusal(['new', 'x', '--base', 'nowhere'])).toMatchObject({
      code: 'base.missing',
      message: 'There is no branch "nowhere".',
      exit: 3,
    });
    expect(await person.refusal(['new', 'x', '--base', person.repository.tip()])).toMatchObject({
      code: 'base.missing',
      hint: expect.stringContaining('git branch'),
    });
  });

  it('without an identity, with the two commands that set it', async () => {
    await using person = new Refusing(TestRepository.empty({ anonymous: true }));
    person.repository.git('-c', 'user.name=a', '-c', 'user.email=b', 'commit', '--allow-empty', '-qm', 'x');
    const { hint, ...error } = await person.refusal(['new', 'x']);
    expect(error).toMatchObject({ code: 'git.no-identity', exit: 1 });
    expect(hint).toContain('git config --global user.name');
    expect(hint).toContain('git config --global user.email');
  });

  it('when a branch called fairlead forbids the names, until the prefix is another', async () => {
    await using person = Refusing.with();
    person.repository.git('branch', 'fairlead');
    expect(await person.refusal(['new', 'x'])).toMatchObject({
      code: 'branch.namespace-taken',
      message: 'The branch "fairlead" keeps git from creating "fairlead/x".',
      hint: expect.stringContaining('[branch] prefix'),
      exit: 1,
    });
    writeFileSync(join(person.fairlead.home, 'config.toml'), '[branch]\nprefix = "fl/"\n');
    expect(await person.session('x')).toMatchObject({ branch: 'fl/x' });
  });

  it('when there is no claude, unless none is to be started', async () => {
    await using person = Refusing.with();
    const PATH = (person.repository.environment.PATH ?? '')
      .split(delimiter)
      .filter((folder) => findProgram('claude', { PATH: folder }) === undefined)
      .join(delimiter);
    expect(await person.refusal(['new', 'x'], { env: { PATH } })).toMatchObject({
      code: 'agent.missing',
      hint: expect.stringMatching(/^Install Claude Code: curl \S+ .*https:\/\/code\.claude\.com\/docs/),
      exit: 1,
    });
    writeFileSync(join(person.fairlead.home, 'config.toml'), '[agent]\ncommand = "mine"\n');
    expect((await person.refusal(['new', 'x'], { env: { PATH } })).hint).not.toContain('Install');
    rmSync(join(person.fairlead.home, 'config.toml'));
  });

  it('when claude is too old, or does not run', async () => {
    await using person = Refusing.with();
    person.program('claude', 'echo "2.0.14 (Claude Code)"');
    expect(await person.refusal(['new', 'x'])).toMatchObject({
      code: 'agent.too-old',
      message: expect.stringContaining('2.0.14'),
      hint: expect.stringContaining('claude update'),
      exit: 1,
    });
    person.program('claude', 'echo "no such library." >&2; exit 1');
    expect(await person.refusal(['new', 'x'])).toMatchObject({
      code: 'agent.missing',
      message: expect.stringContaining('no such library'),
      exit: 1,
    });
  });

  it('when there is no git', async () => {
    await using person = Refusing.with();
    expect(await person.refusal(['new', 'x'], { env: { PATH: person.programs } })).toMatchObject({
      code: 'git.missing',
      hint: expect.stringContaining('2.38'),
      exit: 1,
    });
  });

  it('when git is too old for sessions', async () => {
    await using person = Refusing.with();
    const old = join(person.repository.root, 'old');
    mkdirSync(old);
    writeFileSync(join(old, 'git'), '#!/bin/sh\necho git version 2.30.2\n', { mode: 0o755 });
    const PATH = `${old}${delimiter}${person.fairlead.environment.PATH}`;
    expect(await person.refusal(['new', 'x'], { env: { PATH } })).toMatchObject({
      code: 'git.too-old',
      message: expect.stringContaining('2.30.2'),
      data: { found: '2.30.2' },
      exit: 1,
    });
  });

  it('when the disk is full while the worktree is made', async () => {
    await using person = Refusing.with();
    person.repository.commit({ 'big.bin': Buffer.alloc(3 * 1024 * 1024, 7) }, 'Big');
    const worktrees = join(person.fairlead.home, 'worktrees');
    const full = `mkdir -p ${worktrees}\nmount -t tmpfs -o size=1m none ${worktrees}`;
    const started = await runMounted(person.fairlead, full, ['up'], { cwd: person.repository.root });
    expect(started).toMatchObject({ code: 0 });
    expect(await person.refusal(['new', 'x', '--no-start'])).toMatchObject({
      code: 'disk.full',
      hint: expect.stringContaining('Free some space'),
      exit: 1,
    });
    // As the sidecar sees what is mounted there; root and the owner may look through its eyes.
    const pid = await person.fairlead.sidecarPid();
    const seen = readdirSync(`/proc/${pid}/root${worktrees}`, { recursive: true, withFileTypes: true });
    expect(seen.filter((each) => each.isFile())).toEqual([]);
    // It is the disk alone: the same sidecar makes a small one.
    person.repository.git('rm', '--quiet', 'big.bin');
    person.repository.commit({}, 'Small');
    expect(await person.session('small')).toMatchObject({ branch: 'fairlead/small' });
  });

  it('when the disk of the repository is full', async () => {
    await using person = Refusing.with();
    const gitDir = join(person.repository.folder, '.git');
    const copy = join(person.repository.root, 'copy.git');
    const full = [
      `cp -a ${gitDir} ${copy}`,
      `mount -t tmpfs -o size=2m none ${gitDir}`,
      `cp -a ${copy}/. ${gitDir}/`,
      `dd if=/dev/zero of=${gitDir}/filler bs=4k 2>/dev/null || true`,
    ].join('\n');
    const started = await runMounted(person.fairlead, full, ['up'], { cwd: person.repository.root });
    expect(started).toMatchObject({ code: 0 });
    expect(await person.refusal(['new', 'x', '--no-start'])).toMatchObject({
      code: 'disk.full',
      message: expect.stringContaining(gitDir),
      hint: expect.stringContaining('Free some space'),
      exit: 1,
    });
  });

  it('when the key is taken by a session that lives', async () => {
    await using person = Refusing.with();
    const first = await person.session('x', '--key', 'ticket-1');
    expect(await person.refusal(['new', 'y', '--no-start', '--key', 'ticket-1'])).toMatchObject({
      code: 'session.key-taken',
      message: `The key "ticket-1" belongs to session ${first.id}.`,
      data: { session: first.id },
      exit: 1,
    });
    await person.fairlead.json(['archive', 'ticket-1']);
    expect(await person.session('y', '--key', 'ticket-1')).toMatchObject({ key: 'ticket-1' });
  });

  it('for an agent that nobody knows', async () => {
    await using person = Refusing.with();
    expect(await person.refusal(['new', 'x', '--agent', 'hal'])).toMatchObject({
      code: 'agent.unsupported',
      exit: 3,
      hint: expect.stringContaining('claude'),
    });
  });

  it('when a configuration cannot be used, naming the file and the entry', async () => {
    await using person = Refusing.with();
    const own = join(person.fairlead.home, 'config.toml');
    for (const [text, message] of [
      ['[branch\n', `${own} cannot be used: it is not TOML (line 1, column 8).`],
      [
        '[worktree]\nplace = "moon"\n',
        `${own} cannot be used: [worktree] place: it is one of home, sibling, inside.`,
      ],
      ['[agnet]\n', `${own} cannot be used: [agnet] is not known.`],
      ['[agent]\nmdoel = "x"\n', `${own} cannot be used: [agent]: mdoel is not known.`],
    ]) {
      writeFileSync(own, text ?? '');
      expect(await person.refusal(['new', 'x'])).toMatchObject({ code: 'config.invalid', message, exit: 1 });
    }
    rmSync(own);
    person.repository.write({ '.fairlead/config.toml': '[agent]\nmode = "bypassPermissions"\n' });
    expect(await person.refusal(['new', 'x'])).toMatchObject({
      code: 'config.invalid',
      hint: expect.stringContaining('--mode bypassPermissions'),
    });
  });
});

describe('a name that fairlead makes', { timeout: TIMEOUT }, () => {
  it('is free, whatever branches and sessions there are', async () => {
    await using person = Refusing.with();
    const { repository } = person;
    repository.git('branch', 'fairlead/fix');
    repository.git('branch', 'fairlead/fix-2/below');
    expect(await person.session('Fix')).toMatchObject({ branch: 'fairlead/fix-3' });
    expect(await person.session('fix!')).toMatchObject({ branch: 'fairlead/fix-4' });
    const [a, b, c] = await Promise.all([
      person.session('same'),
      person.session('same'),
      person.session('same'),
    ]);
    expect([a, b, c].map(({ branch }) => branch).sort()).toEqual([
      'fairlead/same',
      'fairlead/same-2',
      'fairlead/same-3',
    ]);
  });

  it('can be taken in another repository at the same time', async () => {
    await using person = Refusing.with();
    await person.session('same');
    using other = TestRepository.with();
    const made = await person.fairlead.json<{ session: Session }>(['new', '--no-start', 'same'], {
      cwd: other.folder,
    });
    expect(made.session.branch).toBe('fairlead/same');
  });
});

describe('a command says what is wrong', { timeout: TIMEOUT }, () => {
  it('with a session that nobody knows, or that is not the only one', async () => {
    await using person = Refusing.with();
    expect(await person.refusal(['show', 'nobody'])).toMatchObject({ code: 'session.missing', exit: 3 });
    const ids: string[] = [];
    // By the 33rd at the latest two ids begin with the same of 32 letters.
    while (new Set(ids.map((id) => id[0])).size === ids.length) ids.push((await person.session('x')).id);
    const shared = ids.find((id, at) => ids.findIndex((other) => other[0] === id[0]) !== at)?.[0] ?? '';
    expect(await person.refusal(['show', shared])).toMatchObject({
      code: 'session.ambiguous',
      message: `"${shared}" names 2 sessions.`,
      exit: 2,
    });
  });

  it('with a waiting that takes too long', async () => {
    await using person = Refusing.with();
    const { id } = await person.session('x');
    expect(await person.refusal(['wait', id, '--for', 'needs-you', '--timeout', '0.2'])).toMatchObject({
      code: 'wait.timed-out',
      exit: 4,
    });
  });

  it('with wrong usage', async () => {
    await using person = Refusing.with();
    for (const args of [
      ['nonsense'],
      ['show'],
      ['ls', '--what'],
      ['new', 'x', '--mode', 'yolo'],
      ['wait', 'x', '--timeout', 'soon'],
      ['events', '--after', 'x'],
      ['logs', '--lines', '-1'],
      ['new', ''],
      ['new', 'x', '--key', 'two words'],
      [],
    ]) {
      const error = await person.fairlead.error(args, { cwd: person.repository.folder });
      expect([args, error.exit, error.code]).toEqual([
        args,
        2,
        expect.stringMatching(/usage|params\.invalid/),
      ]);
      expect(error.hint).toBeTruthy();
    }
  });
});

describe('a home that cannot be used', { timeout: TIMEOUT }, () => {
  let root: string;
  let fairlead: SidecarHarness;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'fairlead-homes-'));
    fairlead = new SidecarHarness({ PATH: process.env.PATH ?? '', HOME: root });
  });
  afterEach(async () => {
    await fairlead[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });

  /** A database as a sidecar leaves it, with its log not yet moved into it. */
  async function database(): Promise<{ file: string; bytes(): Buffer }> {
    await fairlead.json(['up']);
    await fairlead.killSidecar();
    const file = join(fairlead.home, 'state.db');
    return { file, bytes: () => readFileSync(file) };
  }

  it('because it lies below a file', async () => {
    const file = join(root, 'file');
    writeFileSync(file, 'x');
    for (const command of ['up', 'new', 'ls']) {
      expect(await fairlead.error([command], { env: { FAIRLEAD_HOME: join(file, 'home') } })).toMatchObject({
        code: 'home.read-only',
        hint: expect.stringContaining('FAIRLEAD_HOME'),
        exit: 1,
      });
    }
    expect(readFileSync(file, 'utf8')).toBe('x');
  });

  it('because nothing can be made there, and says so at once', async () => {
    const env = { FAIRLEAD_HOME: '/proc/fairlead' };
    expect(await fairlead.error(['up'], { env, timeoutMs: 20_000 })).toMatchObject({
      code: 'home.read-only',
      exit: 1,
    });
  });

  it('because its file system is read-only', async () => {
    const mounts = `mount --bind ${fairlead.home} ${fairlead.home}\nmount -o remount,ro,bind ${fairlead.home}`;
    const run = await runMounted(fairlead, mounts, ['up', '--json'], { cwd: root });
    expect(run.code).toBe(1);
    expect(JSON.parse(run.stderr).error).toMatchObject({ code: 'home.read-only' });
  });

  it('because its disk is full', async () => {
    const mounts = `mount -t tmpfs -o size=64k none ${fairlead.home}\ndd if=/dev/zero of=${fairlead.home}/filler bs=4k 2>/dev/null || true`;
    const run = await runMounted(fairlead, mounts, ['up', '--json'], { cwd: root });
    expect(run.code).toBe(1);
    expect(JSON.parse(run.stderr).error).toMatchObject({ code: 'disk.full' });
  });

  it('because a socket in it would have too long a path', async () => {
    const home = join(root, 'x'.repeat(100));
    for (const command of ['up', 'down', 'status']) {
      expect(await fairlead.error([command], { env: { FAIRLEAD_HOME: home } })).toMatchObject({
        code: 'home.socket-path-too-long',
        message: expect.stringContaining('103'),
        hint: expect.stringContaining('shorter'),
        exit: 1,
      });
    }
  });

  it('because its database was emptied, which is not taken for a first start', async () => {
    const { file, bytes } = await database();
    for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
    writeFileSync(file, '');
    expect(await fairlead.error(['ls'])).toMatchObject({ code: 'store.damaged', exit: 1 });
    expect(bytes().length).toBe(0);
  });

  it('because its database is from a newer version, which stays as it is', async () => {
    const { file, bytes } = await database();
    const writer = new DatabaseSync(file);
    writer.exec('PRAGMA user_version = 9999');
    // Copied while open: closing would move the log into the file.
    copyFileSync(file, `${file}.copy`);
    copyFileSync(`${file}-wal`, `${file}.copy-wal`);
    writer.close();
    copyFileSync(`${file}.copy`, file);
    copyFileSync(`${file}.copy-wal`, `${file}-wal`);
    const before = bytes();
    for (let again = 0; again < 2; again += 1) {
      expect(await fairlead.error(['ls'])).toMatchObject({
        code: 'store.newer',
        message: expect.stringContaining('schema 9999'),
        hint: expect.stringContaining('Update Fairlead'),
        exit: 1,
      });
      expect(bytes().equals(before)).toBe(true);
    }
  });

  it.each([
    ['is something else', () => Buffer.from('this is no database, but it was there first\n'.repeat(50))],
    ['is torn in the middle', (whole: Buffer) => whole.fill(0xa5, 4_096, whole.length)],
    ['is cut off', (whole: Buffer) => whole.subarray(0, 5_000)],
  ])('because its database %s, which is never replaced', async (_how, damage) => {
    const { file } = await database();
    // Everything into the one file, as after an orderly end.
    const writer = new DatabaseSync(file);
    writer.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    writer.close();
    writeFileSync(file, damage(readFileSync(file)));
    const before = readFileSync(file);
    for (let again = 0; again < 2; again += 1) {
      expect(await fairlead.error(['ls'])).toMatchObject({
        code: 'store.damaged',
        message: expect.stringContaining(file),
        hint: expect.stringContaining('left as it is'),
        exit: 1,
      });
      expect(readFileSync(file).equals(before)).toBe(true);
    }
    const doctor = await fairlead.run(['doctor']);
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/fail\s+sidecar\s+.*is damaged/);
    expect(doctor.stdout).toMatch(/ok\s+git/);
  });
});
