import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  aheadBehind,
  aheadBehindOfMany,
  branchInTheWay,
  isAncestor,
  mergeBase,
  readRef,
  resolveCommit,
  updateRef,
} from '../../../sidecar/git/refs.ts';
import { gitVersion, isAtLeast, requireGit } from '../../../sidecar/git/version.ts';
import { TestRepository } from '../../support/repository.ts';

describe.each(['sha1', 'sha256'] as const)('refs in a %s repository', (objectFormat) => {
  it('are created, moved and deleted only from the value seen', async () => {
    using demo = TestRepository.with({ a: '1' }, { objectFormat });
    const git = demo.fairleadGit();
    const first = demo.tip();
    const second = demo.commit({ a: '2' });
    const ref = 'refs/heads/x';

    expect(await updateRef(git, { ref, to: first, from: second }, 'm')).toEqual({
      kind: 'lost',
      now: undefined,
    });
    expect(await updateRef(git, { ref, to: first, from: undefined }, 'made')).toEqual({ kind: 'moved' });
    expect(await updateRef(git, { ref, to: second, from: undefined }, 'm')).toEqual({
      kind: 'lost',
      now: first,
    });
    expect(await updateRef(git, { ref, to: second, from: second }, 'm')).toEqual({
      kind: 'lost',
      now: first,
    });
    expect(await updateRef(git, { ref, to: second, from: first }, 'moved it')).toEqual({ kind: 'moved' });
    expect(demo.git('reflog', '--format=%gs', 'x').split('\n')).toEqual(['moved it', 'made']);
    expect(await updateRef(git, { ref, to: undefined, from: first }, 'm')).toEqual({
      kind: 'lost',
      now: second,
    });
    expect(await updateRef(git, { ref, to: undefined, from: second }, 'm')).toEqual({ kind: 'moved' });
    expect(await readRef(git, ref)).toBeUndefined();
  });
});

describe('reading refs', () => {
  it('guesses nothing: only the exact name counts', async () => {
    using demo = TestRepository.with();
    const git = demo.fairleadGit();
    demo.git('branch', 'refs/heads/odd');
    demo.git('branch', 'a/b');
    expect(await readRef(git, 'refs/heads/odd')).toBeUndefined();
    expect(await readRef(git, 'refs/heads/a')).toBeUndefined();
    expect(await readRef(git, 'refs/heads/main')).toBe(demo.tip());
  });

  it('does not take a damaged ref for a missing one', async () => {
    using demo = TestRepository.with();
    writeFileSync(join(demo.folder, '.git/refs/heads/broken'), 'garbage\n');
    await expect(readRef(demo.fairleadGit(), 'refs/heads/broken')).rejects.toMatchObject({
      code: 'git.failed',
    });
  });

  it('throws rather than report a lost race when a lock is in the way', async () => {
    using demo = TestRepository.with();
    const from = demo.tip();
    const to = demo.commit({ a: 'a' });
    demo.git('branch', 'x', from);
    writeFileSync(join(demo.folder, '.git/refs/heads/x.lock'), '');
    await expect(updateRef(demo.fairleadGit(), { ref: 'refs/heads/x', to, from }, 'm')).rejects.toMatchObject(
      { code: 'git.failed' },
    );
    expect(demo.tip('x')).toBe(from);
  });

  it('resolves names to commits, and options to nothing', async () => {
    using demo = TestRepository.with();
    demo.git('tag', '-a', '-m', 'tag', 'v1');
    const git = demo.fairleadGit();
    expect(await resolveCommit(git, 'v1')).toBe(demo.tip());
    expect(await resolveCommit(git, demo.tip().slice(0, 8))).toBe(demo.tip());
    for (const wrong of ['nosuch', '--all', '', 'HEAD:README.md', 'main..main']) {
      expect(await resolveCommit(git, wrong)).toBeUndefined();
    }
  });

  it('finds the branch that forbids a name', async () => {
    using demo = TestRepository.with();
    const git = demo.fairleadGit();
    expect(await branchInTheWay(git, 'fairlead/a')).toBeUndefined();
    demo.git('branch', 'fairlead');
    expect(await branchInTheWay(git, 'fairlead/a')).toBe('fairlead');
    expect(await branchInTheWay(git, 'fairlead')).toBeUndefined();
    demo.git('branch', 'x/y/z');
    expect(await branchInTheWay(git, 'x/y')).toBe('x/y/z');
    expect(await branchInTheWay(git, 'x/y/z/w')).toBe('x/y/z');
  });
});

describe('ancestry', () => {
  it('counts ahead and behind, for many branches in one go', async () => {
    using demo = TestRepository.with();
    const start = demo.tip();
    demo.commitOn('one', { a: '1' });
    demo.commitOn('one', { a: '2' });
    demo.commit({ b: '1' });
    demo.git('branch', 'same');
    demo.git('branch', 'with space'.replace(' ', '.'), start);
    const git = demo.fairleadGit();
    expect(await aheadBehind(git, 'main', 'one')).toEqual({ ahead: 2, behind: 1 });
    const many = await aheadBehindOfMany(git, [
      { branch: 'one', base: 'main' },
      { branch: 'same', base: 'main' },
      { branch: 'with.space', base: 'one' },
      { branch: 'gone', base: 'main' },
      { branch: 'main', base: 'gone' },
    ]);
    expect(Object.fromEntries(many)).toEqual({
      one: { ahead: 2, behind: 1 },
      same: { ahead: 0, behind: 0 },
      'with.space': { ahead: 0, behind: 2 },
    });
    expect(demo.tryGit('config', '--get-regexp', '^branch').stdout).toBe('');
  });

  it('does not let an upstream of the person change the counts', async () => {
    using demo = TestRepository.with();
    demo.withRemote();
    demo.commit({ a: '1' });
    demo.git('branch', '--track', 'one', 'origin/main');
    const many = await aheadBehindOfMany(demo.fairleadGit(), [{ branch: 'one', base: 'main' }]);
    expect(many.get('one')).toEqual({ ahead: 0, behind: 1 });
  });

  it('knows merge bases and unrelated histories', async () => {
    using demo = TestRepository.with();
    const start = demo.tip();
    const one = demo.commitOn('one', { a: '1' });
    demo.git('switch', '--quiet', '--orphan', 'alien');
    const alien = demo.commit({ z: 'z' });
    const git = demo.fairleadGit();
    expect(await mergeBase(git, start, one)).toBe(start);
    expect(await mergeBase(git, alien, one)).toBeUndefined();
    expect(await isAncestor(git, start, one)).toBe(true);
    expect(await isAncestor(git, one, start)).toBe(false);
    await expect(isAncestor(git, one, '0'.repeat(40))).rejects.toMatchObject({ code: 'git.failed' });
  });
});

describe('the version of git', () => {
  it('is compared number by number', () => {
    expect(isAtLeast('2.38.0', '2.38')).toBe(true);
    expect(isAtLeast('2.39.5', '2.38.0')).toBe(true);
    expect(isAtLeast('2.9.9', '2.38.0')).toBe(false);
    expect(isAtLeast('3.0', '2.38.0')).toBe(true);
  });

  it('is refused when too old', async () => {
    using demo = TestRepository.with();
    const git = demo.fairleadGit();
    expect(isAtLeast(await gitVersion(git), '2.30')).toBe(true);
    await expect(requireGit(git, '99.0', 'landing')).rejects.toMatchObject({ code: 'git.too-old' });
  });
});
