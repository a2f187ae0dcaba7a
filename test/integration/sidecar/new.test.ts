import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SidecarStatus } from '../../../sidecar/protocol/protocol.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { prompt } from '../../support/model/story.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';
import { World } from '../../support/world.ts';

const TIMEOUT = 120_000;

interface Made {
  session: Session;
  leftBehind: number;
  notes: string[];
}

/** A person with a repository, who makes sessions and starts no agent. */
class Maker implements AsyncDisposable {
  readonly repository: TestRepository;
  readonly fairlead: SidecarHarness;

  constructor(repository = TestRepository.with({ 'README.md': '# Demo\n', 'packages/api/a.ts': 'a\n' })) {
    this.repository = repository;
    this.fairlead = new SidecarHarness(repository.environment);
  }

  async new(...args: string[]): Promise<Made> {
    return this.newIn(this.repository.folder, ...args);
  }

  async newIn(cwd: string, ...args: string[]): Promise<Made> {
    return this.fairlead.json<Made>(['new', '--no-start', ...args], { cwd });
  }

  config(text: string): void {
    writeFileSync(join(this.fairlead.home, 'config.toml'), text);
  }

  /** git in the worktree of a session. */
  in({ session }: Made): TestRepository {
    return this.repository.at(session.worktree);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fairlead[Symbol.asyncDispose]();
    this.repository[Symbol.dispose]();
  }
}

describe('the base of a new session', { timeout: TIMEOUT }, () => {
  it('is the branch that is checked out, in a worktree of its own that is locked', async () => {
    await using maker = new Maker();
    maker.repository.branch('topic').commit({ 't.txt': 't\n' }, 'Topic');
    const made = await maker.new('Work');
    expect(made.session).toMatchObject({ base: 'topic', branch: 'fairlead/work', state: 'sleeping' });
    expect(maker.in(made).tip()).toBe(maker.repository.tip('topic'));
    expect(maker.repository.git('worktree', 'list', '--porcelain')).toContain(
      `locked Fairlead session ${made.session.id}`,
    );
    expect((await maker.new('Other', '--base', 'main')).session.base).toBe('main');
  });

  it('is the upstream when that is strictly ahead, fetched first', async () => {
    await using maker = new Maker();
    maker.repository.withRemote();
    const other = maker.repository.clone();
    const ahead = other.commit({ 'news.md': 'news\n' }, 'News');
    other.git('push', '--quiet');
    const made = await maker.new('Work');
    expect(maker.in(made).tip()).toBe(ahead);
    expect(made).toMatchObject({ notes: [], session: { base: 'main' } });
    // The person's own branch is not touched.
    expect(maker.repository.tip('main')).not.toBe(ahead);
  });

  it('is the local branch when that has commits of its own, and says so', async () => {
    await using maker = new Maker();
    maker.repository.withRemote();
    const own = maker.repository.commit({ 'own.md': 'own\n' }, 'Own');
    const made = await maker.new('Work');
    expect(maker.in(made).tip()).toBe(own);
    expect(made.notes).toEqual([
      'main has a commit that origin lacks. The session starts with it; unless you push it first, landing on origin asks whether to take it along.',
    ]);
  });

  it('is what is known here when the remote is away, and says how old that is', async () => {
    await using maker = new Maker();
    const remote = maker.repository.withRemote();
    await maker.new('First');
    renameSync(remote.folder, `${remote.folder}.away`);
    const made = await maker.new('Second');
    expect(made.notes).toEqual([
      expect.stringMatching(
        /^The remote of main could not be fetched \(there is no such repository: '.+' does not appear to be a git repository\); last fetched \d+ s ago\.$/,
      ),
    ]);
    const longAgo = Date.now() / 1000 - 3 * 86_400;
    const notes = readdirSync(join(maker.repository.folder, '.git', 'fairlead'), {
      recursive: true,
      withFileTypes: true,
    });
    for (const note of notes.filter((each) => each.isFile())) {
      utimesSync(join(note.parentPath, note.name), longAgo, longAgo);
    }
    expect((await maker.new('Third')).notes[0]).toMatch(/last fetched 3 days ago/);
  });

  it('is that of the session in whose worktree it is asked for, unless one is named', async () => {
    await using maker = new Maker();
    const parent = await maker.new('Parent');
    maker.in(parent).commit({ 'p.txt': 'p\n' }, 'Parent work');
    const child = await maker.newIn(parent.session.worktree, 'Child');
    expect(child.session).toMatchObject({ base: 'main', repo: maker.repository.folder });
    expect(child.notes).toEqual([expect.stringContaining(`--base ${parent.session.branch}`)]);
    expect(dirname(child.session.worktree)).toBe(dirname(parent.session.worktree));
    const stacked = await maker.newIn(parent.session.worktree, 'Stacked', '--base', parent.session.branch);
    expect(stacked.session.base).toBe(parent.session.branch);
    expect(stacked.notes).toEqual([]);
    expect(maker.in(stacked).read('p.txt')).toBe('p\n');
  });
});

describe('the worktree of a new session', { timeout: TIMEOUT }, () => {
  it('leaves no folder of worktrees behind when the last one there is archived', async () => {
    await using maker = new Maker();
    maker.config('[worktree]\nplace = "sibling"\n');
    const folder = `${maker.repository.folder}.worktrees`;
    const [one, two] = [await maker.new('One'), await maker.new('Two')];
    await maker.fairlead.json(['archive', one.session.id]);
    expect(readdirSync(folder)).toEqual([basename(two.session.worktree)]);
    await maker.fairlead.json(['archive', two.session.id]);
    expect(existsSync(folder)).toBe(false);
  });

  it('is placed in the home, beside the repository, or inside it without showing there', async () => {
    await using maker = new Maker();
    const { folder } = maker.repository;
    const place = async (config: string) => {
      maker.config(config);
      return (await maker.new('Work')).session.worktree;
    };
    expect(await place('')).toContain(join(maker.fairlead.home, 'worktrees', 'repo-'));
    expect(dirname(await place('[worktree]\nplace = "sibling"\n'))).toBe(`${folder}.worktrees`);
    const inside = await place('[worktree]\nplace = "inside"\n');
    expect(dirname(inside)).toBe(join(folder, '.fairlead', 'worktrees'));
    expect(maker.repository.status()).toBe('');
    maker.repository.git('clean', '-fd');
    expect(existsSync(join(inside, 'README.md'))).toBe(true);
  });

  it('counts the changes that stay behind in the main checkout, or brings them along', async () => {
    await using maker = new Maker();
    maker.repository.write({
      'README.md': '# Changed\n',
      'packages/api/a.ts': null,
      'new/file.txt': 'new\n',
    });
    const before = maker.repository.status();
    const left = await maker.new('Left');
    expect(left.leftBehind).toBe(3);
    expect(maker.in(left).status()).toBe('');
    const told = await maker.fairlead.run(['new', '--no-start', 'Told'], { cwd: maker.repository.folder });
    expect(told.stderr).toContain(`3 uncommitted changes stay in ${maker.repository.folder}`);
    expect(told.stderr).toContain('--bring-changes');

    const brought = await maker.new('Brought', '--bring-changes');
    expect(brought.leftBehind).toBe(0);
    expect(maker.in(brought).status()).toBe(before);
    expect(maker.in(brought).read('new/file.txt')).toBe('new\n');
    expect(maker.repository.status()).toBe(before);
  });

  it('is not left half-made when the changes do not fit the base', async () => {
    await using maker = new Maker();
    maker.repository.commitOn('other', { 'README.md': '# Entirely different\n' });
    maker.repository.write({ 'README.md': '# Changed\n' });
    const refs = maker.repository.git('for-each-ref');
    const error = await maker.fairlead.error(
      ['new', '--no-start', 'Brought', '--base', 'other', '--bring-changes'],
      { cwd: maker.repository.folder },
    );
    expect(error.code).toBe('worktree.failed');
    expect(maker.repository.git('for-each-ref')).toBe(refs);
    expect(maker.repository.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(await maker.fairlead.json(['ls', '--all'])).toEqual([]);
  });

  it('gets the local settings that git does not carry', async () => {
    await using maker = new Maker();
    maker.repository.commit({ '.gitignore': '.env*\n*.local\n' });
    maker.repository.write({ '.env': 'KEY=1\n', 'packages/api/.env.test': 'KEY=2\n', 'my.local': 'mine\n' });
    const usual = await maker.new('Usual');
    expect(maker.in(usual).read('.env')).toBe('KEY=1\n');
    expect(maker.in(usual).read('packages/api/.env.test')).toBe('KEY=2\n');
    expect(maker.in(usual).read('my.local')).toBeUndefined();
    maker.config('[worktree]\ncopy = ["my.local"]\n');
    const chosen = await maker.new('Chosen');
    expect([maker.in(chosen).read('.env'), maker.in(chosen).read('my.local')]).toEqual([undefined, 'mine\n']);
  });
});

describe('the name of a new session', { timeout: TIMEOUT }, () => {
  it('comes from the prompt, whatever that holds', async () => {
    await using maker = new Maker();
    for (const [text, title, branch] of [
      ['Fix the bug\nin the parser', 'Fix the bug', 'fairlead/fix-the-bug'],
      ['\n\n  ## Überarbeite   die Größe!  ', '## Überarbeite die Größe!', 'fairlead/uberarbeite-die-gro-e'],
      ['日本語で答えて', '日本語で答えて', 'fairlead/session'],
      ['🎉🎉', '🎉🎉', 'fairlead/session-2'],
      ['?!', 'New session', 'fairlead/new-session'],
      ['/review src/main.ts', '/review src/main.ts', 'fairlead/review-src-main-ts'],
      [
        'Please take a very careful look at everything that could possibly go wrong when the disk is full',
        'Please take a very careful look at everything that could possibly go wrong when…',
        'fairlead/please-take-a-very-careful-look-at',
      ],
    ]) {
      const { session } = await maker.new(text ?? '');
      expect([session.title, session.branch]).toEqual([title, branch]);
    }
    const { session } = await maker.new('x', '--title', '\u001b[31m  Red \n title\u0007 ');
    expect(session.title).toBe('Red title');
  });
});

describe('the agent of a new session', { timeout: TIMEOUT }, () => {
  /** Process of the agent. */
  async function agentOf(world: World, session: Session): Promise<number> {
    const { terminals } = await world.json<SidecarStatus>('status');
    return terminals.find((each) => each.session === session.id && each.running)?.pid ?? 0;
  }

  it('starts in the folder that it was asked for in', async () => {
    await using world = await World.open({ files: { 'packages/api/a.ts': 'a\n' } });
    world.model.when(prompt('hello')).says('Hello.');
    const { session } = await world.fairlead.json<Made>(['new', 'hello'], {
      cwd: join(world.repository.folder, 'packages', 'api'),
    });
    await world.finished(session.id);
    expect(readlinkSync(`/proc/${await agentOf(world, session)}/cwd`)).toBe(
      join(session.worktree, 'packages', 'api'),
    );
    // A folder that the base does not have cannot be started in: the root it is.
    mkdirSync(join(world.repository.folder, 'only', 'here'), { recursive: true });
    const other = await world.fairlead.json<Made>(['new', 'hello'], {
      cwd: join(world.repository.folder, 'only', 'here'),
    });
    await world.finished(other.session.id);
    expect(readlinkSync(`/proc/${await agentOf(world, other.session)}/cwd`)).toBe(other.session.worktree);
  });

  it('has the permission mode and model of the repository, of the person, or of the command, the last first', async () => {
    await using world = await World.open();
    world.model.when(prompt('hello')).says('Hello.');
    world.repository.commit({
      '.fairlead/config.toml': '[agent]\nmode = "plan"\nmodel = "claude-haiku-4-5"\n',
    });
    const argv = async (session: Session) => {
      await world.finished(session.id);
      return readFileSync(`/proc/${await agentOf(world, session)}/cmdline`, 'utf8').split('\0');
    };
    const first = await world.start('hello');
    expect(first).toMatchObject({ mode: 'plan', model: 'claude-haiku-4-5' });
    expect(await argv(first)).toEqual(
      expect.arrayContaining(['--permission-mode', 'plan', '--model', 'claude-haiku-4-5']),
    );
    writeFileSync(join(world.fairlead.home, 'config.toml'), '[agent]\nmode = "acceptEdits"\n');
    const second = await world.start('hello');
    expect(second).toMatchObject({ mode: 'acceptEdits', model: 'claude-haiku-4-5' });
    const third = await world.start('hello', '--mode', 'manual');
    expect(await argv(third)).toEqual(expect.arrayContaining(['--permission-mode', 'manual']));
  });

  it('edits without being asked when the worktree is inside the repository', async () => {
    await using world = await World.open();
    writeFileSync(join(world.fairlead.home, 'config.toml'), '[worktree]\nplace = "inside"\n');
    world.model
      .when(prompt('write'))
      .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/made.txt`, content: 'made\n' }))
      .thenSays('Written.');
    const session = await world.start('write', '--mode', 'acceptEdits');
    await world.finished(session.id);
    expect(world.repository.at(session.worktree).read('made.txt')).toBe('made\n');
    expect(world.repository.status()).toBe('');
  });

  it.each([
    ['is gone', (file: string) => rmSync(file), /\.git/],
    ['points elsewhere', (file: string) => writeFileSync(file, 'gitdir: /tmp\n'), /another repository/],
  ])('never starts in a worktree whose .git file %s', async (_how, damage, why) => {
    await using world = await World.open();
    world.model.when(prompt('hello')).says('Hello.');
    const session = await world.start('hello');
    await world.finished(session.id);
    await world.json('stop', session.id);
    damage(join(session.worktree, '.git'));
    const before = world.repository.status();
    expect(await world.error('resume', session.id)).toMatchObject({
      code: 'worktree.broken',
      message: expect.stringMatching(why),
      hint: expect.stringContaining('worktree repair'),
      exit: 1,
    });
    expect(await agentOf(world, session)).toBe(0);
    expect(world.repository.status()).toBe(before);
    expect(await world.fairlead.show(session.id)).toMatchObject({ facts: { life: 'sleeping' } });
  });

  it('that finds its .git file gone between check and start is not started, and says why', async () => {
    await using world = await World.open();
    const { session } = await world.json<Made>('new', '--no-start');
    const dotGit = join(session.worktree, '.git');
    const gitDir = world.repository.at(session.worktree).git('rev-parse', '--absolute-git-dir');
    const launch = join(gitDir, 'fairlead', 'launch');
    world.model.when(prompt('hello')).says('Hello.');
    await world.start('hello');
    const { ptyhost } = await world.json<SidecarStatus>('status');
    if (ptyhost === null) throw new Error('there is no ptyhost');
    // The launch file is written before a terminal is asked for, and who gives that is held up.
    process.kill(ptyhost.pid, 'SIGSTOP');
    const resuming = world.json<Session>('resume', session.id);
    await expect.poll(() => existsSync(launch), { timeout: 20_000, interval: 5 }).toBe(true);
    rmSync(dotGit);
    process.kill(ptyhost.pid, 'SIGCONT');
    await resuming;
    // That the worktree is broken may be seen before.
    const refused = await world.fairlead.until(session.id, ({ reason }) => reason?.kind === 'agent-ended');
    expect(refused.reason?.message).toContain('.git');
    expect(await agentOf(world, session)).toBe(0);
  });
});
