import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openRepository, readHead, requireCommit } from '../../../sidecar/git/repository.ts';
import { TestRepository } from '../../support/repository.ts';

describe('opening a repository', () => {
  it('knows root, git folders and object format', async () => {
    using demo = TestRepository.with();
    const repository = await demo.open();
    expect(repository).toMatchObject({
      topLevel: demo.folder,
      mainCheckout: demo.folder,
      commonDir: join(demo.folder, '.git'),
      gitDir: join(demo.folder, '.git'),
      prefix: '',
      objectFormat: 'sha1',
    });
  });

  it('keeps the folder below the root as the prefix', async () => {
    using demo = TestRepository.with({ 'packages/api/a.txt': 'a\n' });
    const repository = await demo.at(join(demo.folder, 'packages/api')).open();
    expect(repository).toMatchObject({ topLevel: demo.folder, prefix: 'packages/api' });
  });

  it('finds the main checkout from a linked worktree', async () => {
    using demo = TestRepository.with();
    const repository = await demo.worktree('lane').open();
    expect(repository).toMatchObject({
      topLevel: join(demo.root, 'lane'),
      mainCheckout: demo.folder,
      commonDir: join(demo.folder, '.git'),
    });
    expect(repository.git.folder).toBe(demo.folder);
  });

  it('resolves symbolic links, so that one repository has one name', async () => {
    using demo = TestRepository.with();
    const link = join(demo.root, 'link');
    symlinkSync(demo.folder, link);
    const repository = await demo.at(link).open();
    expect(repository.commonDir).toBe(realpathSync(join(demo.folder, '.git')));
  });

  it('opens a folder whose name holds spaces, a newline and non-ASCII', async () => {
    using demo = TestRepository.with({ 'ü b\nc/a.txt': 'a\n' });
    const repository = await demo.at(join(demo.folder, 'ü b\nc')).open();
    expect(repository.prefix).toBe('ü b\nc');
  });

  it('reads SHA-256 repositories', async () => {
    using demo = TestRepository.with({ a: 'a\n' }, { objectFormat: 'sha256' });
    const repository = await demo.open();
    expect(repository.objectFormat).toBe('sha256');
    expect((await readHead(repository.git)).commit).toHaveLength(64);
  });

  it('refuses a bare repository, but opens a linked worktree of one', async () => {
    using demo = TestRepository.with();
    const bare = demo.withRemote();
    await expect(bare.open()).rejects.toMatchObject({ code: 'repo.bare' });
    const repository = await bare.worktree('lane').open();
    expect(repository).toMatchObject({ mainCheckout: undefined, commonDir: bare.folder });
    await expect(repository.git.text(['rev-parse', 'main'])).resolves.toBe(demo.tip());
  });

  it('finds the main checkout of a submodule from a worktree of it', async () => {
    using demo = TestRepository.with();
    demo.withRemote();
    demo.git('submodule', 'add', '--quiet', demo.git('remote', 'get-url', 'origin'), 'sub');
    const sub = demo.at(join(demo.folder, 'sub'));
    expect((await sub.open()).mainCheckout).toBe(sub.folder);
    expect((await sub.worktree('lane').open()).mainCheckout).toBe(sub.folder);
  });

  it('opens the checkout when it is asked for its .git folder', async () => {
    using demo = TestRepository.with();
    expect((await demo.at(join(demo.folder, '.git')).open()).topLevel).toBe(demo.folder);
  });

  it('refuses a folder without a repository, and one that does not exist', async () => {
    using demo = TestRepository.with();
    mkdirSync(join(demo.root, 'plain'));
    await expect(demo.at(join(demo.root, 'plain')).open()).rejects.toMatchObject({ code: 'repo.missing' });
    await expect(demo.at(join(demo.root, 'nowhere')).open()).rejects.toMatchObject({ code: 'repo.missing' });
  });

  it('refuses the repository of another user as git does, with what to do', async () => {
    using demo = TestRepository.with();
    // git takes the owner for another one when it is told to. Source: GIT_TEST_ASSUME_DIFFERENT_OWNER in setup.c.
    const binary = join(demo.root, 'git');
    writeFileSync(binary, '#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec git "$@"\n', { mode: 0o755 });
    await expect(demo.open({ binary })).rejects.toMatchObject({
      code: 'repo.unsafe',
      hint: expect.stringContaining('safe.directory'),
    });
  });

  it('is not led astray by an inherited GIT_DIR', async () => {
    using demo = TestRepository.with();
    using other = TestRepository.with();
    const git = demo.fairleadGit({
      environment: { ...demo.environment, GIT_DIR: join(other.folder, '.git'), GIT_INDEX_FILE: '/nowhere' },
    });
    expect((await openRepository(demo.folder, git)).commonDir).toBe(join(demo.folder, '.git'));
  });
});

describe('HEAD', () => {
  it('says when there is no commit', async () => {
    using demo = TestRepository.empty();
    const { git } = await demo.open();
    expect(await readHead(git)).toEqual({ commit: undefined, branch: 'main' });
    await expect(requireCommit(git)).rejects.toMatchObject({ code: 'repo.no-commit' });
  });

  it('has no branch when detached', async () => {
    using demo = TestRepository.with();
    demo.git('switch', '--quiet', '--detach');
    expect(await readHead((await demo.open()).git)).toEqual({ commit: demo.tip(), branch: undefined });
  });
});

describe('a git that is missing or fails', () => {
  it('says so when git cannot be found', async () => {
    using demo = TestRepository.with();
    await expect(demo.open({ binary: '/nowhere/git' })).rejects.toMatchObject({ code: 'git.missing' });
  });

  it('keeps command, exit code and what git said', async () => {
    using demo = TestRepository.with();
    await expect(demo.fairleadGit().run(['rev-parse', '--verify', 'nosuch'])).rejects.toMatchObject({
      code: 'git.failed',
      data: {
        command: ['git', 'rev-parse', '--verify', 'nosuch'],
        exitCode: 128,
        stderr: expect.stringContaining('fatal'),
      },
    });
  });

  it('ends a git that takes too long, with all it started', async () => {
    using demo = TestRepository.with();
    demo.config('alias.slow', '!sleep 60');
    await expect(demo.fairleadGit().run(['slow'], { timeoutMs: 200 })).rejects.toMatchObject({
      code: 'git.failed',
      data: { failure: 'timed-out' },
    });
  });
});
