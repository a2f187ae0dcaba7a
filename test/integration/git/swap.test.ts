import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recoverBase, swapBase } from '../../../sidecar/git/swap.ts';
import type { OnStep } from '../../../sidecar/git/swap-together.ts';
import { type Files, TestRepository } from '../../support/repository.ts';

/** `main` at its first commit, and a branch `next` that is to land on it. */
function landable(start: Files, next: Files): { demo: TestRepository; from: string; to: string } {
  const demo = TestRepository.with(start);
  const from = demo.tip();
  const to = demo.commitOn('next', next);
  return { demo, from, to };
}

async function swap(demo: TestRepository, from: string, to: string, onStep?: OnStep) {
  return swapBase(await demo.open(), { branch: 'main', from, to, message: 'land next' }, onStep);
}

/** A non-repeating look at everything that a refused swap must leave alone. */
function picture(demo: TestRepository) {
  return {
    refs: demo.git('for-each-ref'),
    status: demo.git('status', '--porcelain=v2', '--ignored', '--untracked-files=all'),
    index: demo.git('ls-files', '--stage'),
    leftovers: demo.leftovers(),
  };
}

describe('a base that is checked out nowhere', () => {
  it('moves from the value seen, with a reflog entry', async () => {
    const { demo, from, to } = landable({ a: '1' }, { a: '2' });
    using _ = demo;
    demo.switch('next');
    expect(await swap(demo, from, to)).toEqual({ kind: 'moved', folder: undefined });
    expect(demo.tip('main')).toBe(to);
    expect(demo.git('reflog', '-1', '--format=%gs', 'main')).toBe('land next');
    expect(demo.leftovers()).toEqual([]);
  });

  it('does not move from another value, nor backwards', async () => {
    const { demo, from, to } = landable({ a: '1' }, { a: '2' });
    using _ = demo;
    const other = demo.commitOn('main', { b: 'b' });
    demo.switch('next');
    expect(await swap(demo, from, to)).toEqual({ kind: 'base-moved', now: other });
    await expect(swap(demo, to, from)).rejects.toMatchObject({ code: 'internal' });
    expect(demo.tip('main')).toBe(other);
  });

  it('takes a folder along that switched to it at the last moment', async () => {
    const { demo, from, to } = landable({ a: '1' }, { a: '2', b: 'b' });
    using _ = demo;
    const lane = demo.worktree('lane', 'lane', 'main');
    demo.switch('next');
    const outcome = await swap(demo, from, to, (step) => {
      // As if it had read the branch just before it moved.
      if (step !== 'branch-moved') return;
      lane.git('update-ref', '--no-deref', 'HEAD', from);
      lane.git('symbolic-ref', 'HEAD', 'refs/heads/main');
    });
    expect(outcome).toEqual({ kind: 'moved', folder: undefined });
    expect(lane.tip()).toBe(to);
    expect(lane.status()).toBe('');
    expect(lane.read('b')).toBe('b');
  });
});

describe('a base that is checked out', () => {
  it('moves together with its folder, and keeps what the person has in other files', async () => {
    const { demo, from, to } = landable(
      { a: '1\n', gone: 'x', 'd/e': 'e', mine: '1\n', staged: '1\n', exe: 'x' },
      {
        a: '2\n',
        gone: null,
        'd/e': null,
        d: 'now a file',
        'new/ü\nx': 'new',
        exe: { text: 'x', executable: true },
      },
    );
    using _ = demo;
    demo.write({ staged: '2\n' }).git('add', 'staged');
    demo.write({ mine: '2\n', untracked: 'u' });
    expect(await swap(demo, from, to)).toEqual({ kind: 'moved', folder: demo.folder });
    expect(demo.tip()).toBe(to);
    expect(demo.status()).toBe(' M mine\nM  staged\n?? untracked');
    expect([demo.read('a'), demo.read('gone'), demo.read('d'), demo.read('new/ü\nx')]).toEqual([
      '2\n',
      undefined,
      'now a file',
      'new',
    ]);
    expect(demo.git('reflog', '-1', '--format=%gs', 'HEAD')).toBe('land next');
    expect(demo.git('reflog', '-1', '--format=%gs', 'main')).toBe('land next');
    expect(demo.leftovers()).toEqual([]);
  });

  it("is not reverted by the person's next commit", async () => {
    const { demo, from, to } = landable({ a: '1\n', mine: '1\n' }, { a: '2\n', b: 'b\n' });
    using _ = demo;
    await swap(demo, from, to);
    demo.write({ mine: '2\n' }).git('commit', '--quiet', '-a', '-m', 'mine');
    expect(demo.git('diff', '--name-only', to, 'HEAD')).toBe('mine');
  });

  it('moves in a linked worktree, a sparse one, and a SHA-256 repository', async () => {
    for (const objectFormat of ['sha1', 'sha256'] as const) {
      using demo = TestRepository.with({ 'in/a': '1\n', 'out/b': '1\n' }, { objectFormat });
      const from = demo.tip();
      const to = demo.commitOn('next', { 'in/a': '2\n', 'out/b': '2\n', 'out/c': 'c\n' });
      demo.switch('next');
      demo.git('worktree', 'add', '--quiet', '--no-checkout', join(demo.root, 'home of main'), 'main');
      const home = demo.at(join(demo.root, 'home of main'));
      home.git('sparse-checkout', 'set', 'in');
      home.git('checkout', '--quiet');
      expect(await swap(demo, from, to)).toEqual({ kind: 'moved', folder: home.folder });
      expect([home.status(), home.read('in/a'), home.read('out/b')]).toEqual(['', '2\n', undefined]);
      expect(home.leftovers()).toEqual([]);
    }
  });

  it('handles names that are no UTF-8', async () => {
    using demo = TestRepository.with({ a: '1' });
    const from = demo.tip();
    const blob = demo.gitWith({ input: 'x' }, 'hash-object', '-w', '--stdin');
    const entry = Buffer.concat([
      Buffer.from(`100644 blob ${blob}\tn`),
      Buffer.of(0xff, 0xe9),
      Buffer.from('\0'),
    ]);
    const tree = demo.gitWith({ input: entry }, 'mktree', '-z');
    const to = demo.git('commit-tree', '-p', from, '-m', 'odd', tree);
    writeFileSync(Buffer.concat([Buffer.from(`${demo.folder}/n`), Buffer.of(0xff, 0xe9)]), 'mine');
    expect(await swap(demo, from, to)).toMatchObject({
      kind: 'folder-refuses',
      why: 'in-the-way',
      paths: ['n\udcff\udce9'],
    });
    demo.git('clean', '-fdq');
    expect(await swap(demo, from, to)).toMatchObject({ kind: 'moved' });
    expect(demo.status()).toBe('');
  });

  it.each<[string, string, string[], (demo: TestRepository) => unknown]>([
    ['changed', 'changes', ['a'], (demo) => demo.write({ a: 'mine' })],
    ['staged', 'changes', ['a'], (demo) => demo.write({ a: 'mine' }).git('add', 'a')],
    ['deleted', 'changes', ['a'], (demo) => demo.write({ a: null })],
    ['changed though it is to go', 'changes', ['gone'], (demo) => demo.write({ gone: 'mine' })],
    ['untracked in the way', 'in-the-way', ['new'], (demo) => demo.write({ new: 'mine' })],
    ['ignored in the way', 'in-the-way', ['build/out'], (demo) => demo.write({ 'build/out': 'mine' })],
    ['a file where a folder is to be', 'in-the-way', ['build'], (demo) => demo.write({ build: 'mine' })],
    [
      'a link where a folder is to be',
      'in-the-way',
      ['build'],
      (demo) => demo.write({ build: { link: '/tmp' } }),
    ],
    [
      'ignored in a folder that gives way to a file',
      'in-the-way',
      ['d/x.o'],
      (demo) => demo.write({ 'd/x.o': 'mine' }),
    ],
  ])('does not move when a touched file is %s', async (_, why, paths, change) => {
    const { demo, from, to } = landable(
      { a: '1', gone: 'x', 'd/e': 'e', '.gitignore': 'build\n*.o\n' },
      { a: '2', gone: null, new: 'n', 'build/out': 'n', 'd/e': null, d: 'file' },
    );
    using __ = demo;
    change(demo);
    const before = picture(demo);
    expect(await swap(demo, from, to)).toMatchObject({
      kind: 'folder-refuses',
      why,
      paths,
      folder: demo.folder,
    });
    expect(picture(demo)).toEqual(before);
  });

  it('does not move in the middle of an operation, under a lock, or twice checked out', async () => {
    const { demo, from, to } = landable({ a: '1' }, { a: '2' });
    using _ = demo;
    demo.commitOn('side', { b: 'b' });
    demo.git('merge', '--quiet', '--no-commit', '--no-ff', 'side');
    expect(await swap(demo, from, to)).toMatchObject({ kind: 'folder-refuses', why: 'operation' });
    demo.git('merge', '--abort');
    const lock = join(demo.folder, '.git/index.lock');
    writeFileSync(lock, '');
    expect(await swap(demo, from, to)).toMatchObject({ kind: 'folder-refuses', why: 'locked' });
    expect(existsSync(lock)).toBe(true);
    renameSync(lock, `${lock}-gone`);
    demo.git('worktree', 'add', '--quiet', '--force', join(demo.root, 'again'), 'main');
    expect(await swap(demo, from, to)).toMatchObject({ kind: 'folder-refuses', why: 'several' });
    expect(demo.tip('main')).toBe(from);
  });

  it('does not move while its folder is away', async () => {
    const { demo, from, to } = landable({ a: '1' }, { a: '2' });
    using _ = demo;
    demo.switch('next');
    demo.git('worktree', 'add', '--quiet', join(demo.root, 'disk'), 'main');
    renameSync(join(demo.root, 'disk'), join(demo.root, 'unmounted'));
    expect(await swap(demo, from, to)).toMatchObject({ kind: 'folder-refuses', why: 'missing' });
    expect(demo.tip('main')).toBe(from);
  });

  it('does not move while it is being rebased', async () => {
    using demo = TestRepository.with({ a: '1\n' });
    const side = demo.commitOn('side', { a: 'side\n' });
    const from = demo.commit({ a: 'main\n' });
    const to = demo.commitOn('next', { b: 'b' });
    expect(demo.tryGit('rebase', side).exitCode).toBe(1);
    expect(await swap(demo, from, to)).toMatchObject({ kind: 'folder-refuses', why: 'operation' });
    expect(demo.tip('main')).toBe(from);
  });

  it('says that the base moved when a commit came first', async () => {
    const { demo, from, to } = landable({ a: '1' }, { a: '2' });
    using _ = demo;
    const theirs = demo.commit({ b: 'b' });
    expect(await swap(demo, from, to)).toEqual({ kind: 'base-moved', now: theirs });
    expect([demo.status(), demo.leftovers()]).toEqual(['', []]);
  });

  it('lets no commit of the person slip in between', async () => {
    const { demo, from, to } = landable({ a: '1', mine: '1' }, { a: '2' });
    using _ = demo;
    let attempt = '';
    const outcome = await swap(demo, from, to, (step) => {
      if (step !== 'folder-moved') return;
      demo.write({ mine: '2' });
      attempt = demo.tryGit('commit', '-a', '-m', 'mine').stderr;
    });
    expect(outcome).toMatchObject({ kind: 'moved' });
    expect(attempt).toContain('cannot lock ref');
    demo.git('commit', '--quiet', '-a', '-m', 'mine');
    expect(demo.git('diff', '--name-only', to, 'HEAD')).toBe('mine');
  });

  it('notices a switch and an ignored file that came after the first look', async () => {
    const { demo, from, to } = landable({ a: '1', '.gitignore': 'new\n' }, { a: '2', new: 'n' });
    using _ = demo;
    expect(
      await swap(demo, from, to, (step) => void (step === 'begun' && demo.branch('elsewhere'))),
    ).toMatchObject({
      kind: 'folder-refuses',
      why: 'switched',
    });
    demo.switch('main');
    expect(
      await swap(demo, from, to, (step) => void (step === 'prepared' && demo.write({ new: 'mine' }))),
    ).toMatchObject({ kind: 'folder-refuses', why: 'in-the-way', paths: ['new'] });
    expect([demo.tip('main'), demo.read('new'), demo.leftovers()]).toEqual([from, 'mine', []]);
  });

  it('goes back when files cannot be written half-way', async () => {
    const start: Files = { '.gitattributes': '*.x filter=gate\n' };
    const next: Files = {};
    for (let at = 10; at < 40; at += 1) {
      if (at % 3 > 0) start[`f${at}.x`] = `${at} old\n`;
      next[`f${at}.x`] = at % 3 === 1 ? null : `${at} new\n`;
    }
    const { demo, from, to } = landable(start, next);
    using _ = demo;
    const before = picture(demo);
    demo.config('filter.gate.clean', 'cat').config('filter.gate.required', 'true');
    demo.config('filter.gate.smudge', 'text=$(cat); case "$text" in "29 new") exit 1;; esac; echo "$text"');
    expect(await swap(demo, from, to)).toMatchObject({
      kind: 'infrastructure',
      text: expect.stringContaining('f29.x'),
    });
    expect(picture(demo)).toEqual(before);
    demo.git('config', '--remove-section', 'filter.gate');
    expect(await swap(demo, from, to)).toMatchObject({ kind: 'moved' });
    expect(demo.status()).toBe('');
  });

  it('is infrastructure when the branch is locked by somebody else', async () => {
    const { demo, from, to } = landable({ a: '1' }, { a: '2' });
    using _ = demo;
    const lock = join(demo.folder, '.git/refs/heads/main.lock');
    writeFileSync(lock, '');
    expect(await swap(demo, from, to)).toMatchObject({ kind: 'infrastructure' });
    expect([demo.status(), existsSync(lock)]).toEqual(['', true]);
  });

  it('leaves the branches of a repository alone that has nothing pending', async () => {
    const { demo } = landable({ a: '1' }, { a: '2' });
    using _ = demo;
    expect(await recoverBase(await demo.open(), 'main')).toBeUndefined();
  });

  it('moves a submodule pointer and leaves the submodule to the person', async () => {
    using library = TestRepository.with({ l: '1' });
    using demo = TestRepository.with();
    demo.git('submodule', 'add', '--quiet', library.folder, 'lib');
    const from = demo.commit({}, 'lib');
    const second = library.commit({ l: '2' });
    demo.git('update-index', '--cacheinfo', `160000,${second},lib`);
    demo.git('commit', '--quiet', '-m', 'newer lib');
    const to = demo.tip();
    demo.git('reset', '--quiet', '--hard', from);
    mkdirSync(join(demo.folder, 'other'));
    expect(await swap(demo, from, to)).toMatchObject({ kind: 'moved' });
    expect(demo.status()).toBe(' M lib');
    expect(demo.at(join(demo.folder, 'lib')).tip()).not.toBe(second);
    // One that is behind already is no hindrance to the next.
    const third = library.commit({ l: '3' });
    const tree = demo.gitWith(
      { input: `${demo.git('ls-tree', to).replace(second, third)}\n` },
      'mktree',
      '--missing',
    );
    const next = demo.git('commit-tree', '-m', 'newest lib', '-p', to, tree);
    expect(await swap(demo, to, next)).toMatchObject({ kind: 'moved' });
    expect(demo.git('ls-files', '--stage', 'lib')).toContain(third);
    expect(demo.status()).toBe(' M lib');
  });
});
