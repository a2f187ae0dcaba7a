import { existsSync, renameSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';

describe('a place that is gone', { timeout: 120_000 }, () => {
  let repository: TestRepository;
  let fairlead: SidecarHarness;
  let session: Session;

  beforeEach(async () => {
    repository = TestRepository.with({ 'a.txt': 'a\n' });
    fairlead = new SidecarHarness({ ...repository.environment, SHELL: '/bin/sh' });
    const made = await fairlead.json<{ session: Session }>(['new', '--no-start', 'Work'], {
      cwd: repository.folder,
    });
    session = made.session;
    repository.at(session.worktree).commit({ b: '1\n' }, 'Work');
  });
  afterEach(async () => {
    await fairlead[Symbol.asyncDispose]();
    repository[Symbol.dispose]();
  });

  const needsYou = () => fairlead.until(session.id, ({ state }) => state === 'needs-you');
  const rests = () => fairlead.until(session.id, ({ state }) => state === 'sleeping');

  it('is told when it is the repository, of which nothing comes back, and all goes on when it is there again', async () => {
    const { folder } = repository;
    renameSync(folder, `${folder}.away`);
    expect((await needsYou()).reason).toMatchObject({
      kind: 'worktree-missing',
      message: `The repository ${folder} is gone: it was moved or deleted. Move it back to its place, and everything goes on.`,
    });
    for (const command of [['diff'], ['land', '--to', 'local', '--yes'], ['archive'], ['send', 'Hello']]) {
      const [name = '', ...more] = command;
      const error = await fairlead.error([name, session.id, ...more]);
      expect([name, error.code, error.message]).toEqual([
        name,
        'repo.missing',
        `The repository ${folder} is gone: it was moved or deleted.`,
      ]);
    }
    expect(existsSync(folder)).toBe(false);
    renameSync(`${folder}.away`, folder);
    await rests();
    await fairlead.json(['land', session.id, '--to', 'local', '--yes', '--timeout', '30']);
    expect(repository.show('main', 'b')).toBe('1\n');
  });

  it('is not mistaken for another repository that stands around its place', async () => {
    const { folder, root } = repository;
    repository.at(root).git('init', '--quiet');
    renameSync(folder, `${folder}.away`);
    repository.at(folder).write({ file: '1\n' });
    const error = await fairlead.error(['land', session.id, '--to', 'local', '--yes']);
    expect(error.code).toBe('repo.missing');
    expect(repository.at(root).tryGit('rev-parse', '--verify', 'HEAD').exitCode).not.toBe(0);
  });

  it('is told by diff when it is the branch, and when the worktree stands on another', async () => {
    const work = repository.at(session.worktree).branch('own').commit({ '\u001b[31mc': '1\n' }, 'Own');
    expect(work).not.toBe('');
    const { stdout } = await fairlead.run(['diff', session.id, '--stat']);
    expect(stdout).toContain(`# The worktree stands on own, not on ${session.branch}`);
    expect(stdout).toContain('\\x1b[31mc (added)');
    repository.at(session.worktree).git('switch', '--quiet', session.branch);
    repository.git('update-ref', '-d', `refs/heads/${session.branch}`);
    expect(await fairlead.error(['diff', session.id])).toMatchObject({
      code: 'base.missing',
      message: `The branch ${session.branch} does not exist.`,
      hint: expect.stringContaining(` branch ${session.branch} `),
    });
  });

  it('is no hindrance to putting a session away of which nothing is left', async () => {
    rmSync(repository.folder, { recursive: true });
    rmSync(session.worktree, { recursive: true });
    await fairlead.json(['archive', session.id]);
    expect((await fairlead.show(session.id)).state).toBe('archived');
  });

  it('is told when it is the worktree, with the command that makes it anew', async () => {
    rmSync(session.worktree, { recursive: true });
    const message = (await needsYou()).reason?.message ?? '';
    expect(message).toContain(`The worktree ${session.worktree} is gone.`);
    const error = await fairlead.error(['diff', session.id]);
    expect([error.code, `${error.message} ${error.hint}`]).toEqual(['worktree.broken', message]);
    const command = / git -C \S+ (worktree add .*)$/.exec(message)?.[1] ?? '';
    repository.git(...command.split(' '));
    await rests();
    expect((await fairlead.run(['diff', session.id, '--stat'])).stdout).toContain('b (added)');
  });
});
