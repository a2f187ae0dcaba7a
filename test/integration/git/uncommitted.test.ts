import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCommits } from '../../../sidecar/git/commits.ts';
import { readIdentity } from '../../../sidecar/git/identity.ts';
import { readStatus } from '../../../sidecar/git/status.ts';
import { commitAll } from '../../../sidecar/git/uncommitted.ts';
import { PERSON, TestRepository } from '../../support/repository.ts';

describe('securing the work of a checkout', () => {
  it('commits changes, deletions and new files as the person, and leaves ignored ones', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n', 'b.txt': 'b\n', '.gitignore': 'build/\n' });
    const lane = demo.worktree('lane');
    lane.write({
      'a.txt': 'changed\n',
      'b.txt': null,
      '-new': 'new\n',
      'build/out': 'x',
      ' sp\nace ü': 'x\n',
    });
    const outcome = await commitAll(lane.fairleadGit(), { message: '# A title that looks like a comment' });
    expect(outcome).toEqual({
      kind: 'committed',
      commit: lane.tip(),
      paths: [' sp\nace ü', '-new', 'a.txt', 'b.txt'],
    });
    expect(lane.status()).toBe('');
    expect(lane.read('build/out')).toBe('x');
    const [commit] = await readCommits(lane.fairleadGit(), '-1');
    expect(commit).toMatchObject({
      author: PERSON,
      subject: '# A title that looks like a comment',
      parents: [demo.tip('main')],
    });
    expect(demo.tip('lane')).toBe(lane.tip());
  });

  it('commits from the root also when it is asked in a folder below', async () => {
    using demo = TestRepository.with({ 'sub/a.txt': 'a\n' });
    demo.write({ 'top.txt': 'top\n', 'sub/a.txt': 'changed\n' });
    await commitAll(demo.at(join(demo.folder, 'sub')).fairleadGit(), { message: 'm' });
    expect(demo.status()).toBe('');
  });

  it('has nothing to do in a clean checkout', async () => {
    using demo = TestRepository.with();
    expect(await commitAll(demo.fairleadGit(), { message: 'm' })).toEqual({ kind: 'nothing' });
  });

  it('runs the hooks of the person, and their output comes back when they refuse', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
    demo.hook('pre-commit', 'echo "lint: a.txt is ugly"; echo second >&2; exit 1');
    demo.write({ 'b.txt': 'staged\n' }).git('add', 'b.txt');
    demo.write({ 'a.txt': 'ugly\n', 'new.txt': 'new\n' });
    const index = demo.git('ls-files', '--stage');
    const before = demo.status();
    const head = demo.tip();
    const outcome = await commitAll(demo.fairleadGit(), { message: 'm' });
    expect(outcome).toMatchObject({ kind: 'hook-failed', indexRestored: true });
    expect(outcome).toHaveProperty('output', expect.stringMatching(/lint: a.txt is ugly[\s\S]*second/));
    expect(demo.tip()).toBe(head);
    expect(demo.git('ls-files', '--stage')).toBe(index);
    expect(demo.status()).toBe(before);
    expect(demo.leftovers()).toEqual([]);
  });

  it('sees an edit of the same size right after an index that was put back', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n' });
    demo.hook('pre-commit', 'exit 1');
    for (let round = 0; round < 10; round += 1) {
      demo.write({ 'a.txt': `${round}\n` });
      expect(await commitAll(demo.fairleadGit(), { message: 'm' })).toMatchObject({ kind: 'hook-failed' });
      expect((await readStatus(demo.fairleadGit())).unstaged).toEqual(['a.txt']);
      demo.write({ 'a.txt': 'a\n' });
      expect((await readStatus(demo.fairleadGit())).unstaged).toEqual([]);
    }
  });

  it('does not wait for ever for a hook', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n' });
    demo.hook('pre-commit', 'sleep 60');
    demo.write({ 'a.txt': 'b\n' });
    const outcome = await commitAll(demo.fairleadGit(), { message: 'm', timeoutMs: 300 });
    expect(outcome).toMatchObject({ kind: 'hook-failed', indexRestored: true });
    expect(demo.leftovers()).toEqual([]);
    expect(demo.status()).toBe(' M a.txt');
  });

  it('takes what a formatting hook changed', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n' });
    demo.hook('pre-commit', 'echo formatted > a.txt; git add a.txt');
    demo.write({ 'a.txt': 'b\n' });
    expect(await commitAll(demo.fairleadGit(), { message: 'm' })).toMatchObject({ kind: 'committed' });
    expect(demo.show('HEAD', 'a.txt')).toBe('formatted\n');
  });

  it('leaves an open merge and conflicts to whoever began them', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n' });
    demo.commitOn('side', { 'a.txt': 'side\n' });
    demo.commit({ 'a.txt': 'main\n' });
    demo.tryGit('merge', 'side');
    expect(await commitAll(demo.fairleadGit(), { message: 'm' })).toEqual({
      kind: 'in-progress',
      operation: 'merge',
      paths: ['a.txt'],
    });
  });

  it('names repositories inside, whose files git would not store', async () => {
    using demo = TestRepository.with();
    mkdirSync(join(demo.folder, 'inner'));
    const inner = demo.at(join(demo.folder, 'inner'));
    inner.git('init', '--quiet');
    inner.commit({ x: 'x' });
    expect(await commitAll(demo.fairleadGit(), { message: 'm' })).toEqual({
      kind: 'nested-repository',
      paths: ['inner/'],
    });
  });

  it('does not steal a lock', async () => {
    using demo = TestRepository.with();
    demo.write({ x: 'x' });
    const lock = join(demo.folder, '.git/index.lock');
    writeFileSync(lock, 'held');
    expect(await commitAll(demo.fairleadGit(), { message: 'm' })).toEqual({ kind: 'locked' });
    expect(readFileSync(lock, 'utf8')).toBe('held');
  });

  it('refuses without an identity and names the two commands that set it', async () => {
    using demo = TestRepository.empty({ anonymous: true });
    demo.write({ x: 'x' });
    await expect(readIdentity(demo.fairleadGit())).rejects.toMatchObject({ code: 'git.no-identity' });
    await expect(commitAll(demo.fairleadGit(), { message: 'm' })).rejects.toMatchObject({
      code: 'git.no-identity',
      data: { commands: [expect.stringContaining('user.name'), expect.stringContaining('user.email')] },
    });
    demo.config('user.email', 'a@b.c');
    await expect(readIdentity(demo.fairleadGit())).rejects.toMatchObject({ code: 'git.no-identity' });
    demo.config('user.name', 'A B');
    expect((await readIdentity(demo.fairleadGit())).author).toEqual({ name: 'A B', email: 'a@b.c' });
  });

  it('commits to no other branch than the one meant, and to no repository around', async () => {
    using demo = TestRepository.with({ a: 'a' });
    const folder = join(demo.folder, 'inside');
    demo.git('worktree', 'add', '--quiet', '-b', 'lane', folder);
    const lane = demo.at(folder);
    lane.write({ work: 'w' });
    const git = lane.fairleadGit();
    const tips = demo.git('for-each-ref');
    await expect(commitAll(git, { message: 'm', branch: 'other' })).rejects.toMatchObject({
      code: 'worktree.broken',
    });
    lane.git('switch', '--quiet', '--detach');
    await expect(commitAll(git, { message: 'm', branch: 'lane' })).rejects.toMatchObject({
      code: 'worktree.broken',
    });
    lane.switch('lane');
    renameSync(join(folder, '.git'), join(folder, 'dot-git'));
    await expect(commitAll(git, { message: 'm', branch: 'main' })).rejects.toMatchObject({
      code: 'worktree.broken',
    });
    expect(demo.git('for-each-ref')).toBe(tips);
    renameSync(join(folder, 'dot-git'), join(folder, '.git'));
    expect(await commitAll(git, { message: 'm', branch: 'lane' })).toMatchObject({ kind: 'committed' });
    expect(demo.tip('lane')).toBe(lane.tip());
  });

  it('stores files under autocrlf and safecrlf', async () => {
    using demo = TestRepository.with();
    demo.config('core.autocrlf', 'true').config('core.safecrlf', 'true');
    demo.write({ 'mixed.txt': 'a\r\nb\nc\n' });
    expect(await commitAll(demo.fairleadGit(), { message: 'm' })).toMatchObject({ kind: 'committed' });
    expect(demo.status()).toBe('');
  });
});
