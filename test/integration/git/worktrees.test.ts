import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { operationInProgress } from '../../../sidecar/git/operation.ts';
import { requireSaved } from '../../../sidecar/git/unsaved-work.ts';
import { inspectWorktree } from '../../../sidecar/git/worktree-faults.ts';
import { listWorktrees } from '../../../sidecar/git/worktree-list.ts';
import {
  addWorktree,
  discardWorktree,
  lockWorktree,
  removeWorktree,
} from '../../../sidecar/git/worktrees.ts';
import { TestRepository } from '../../support/repository.ts';

function request(demo: TestRepository, more: Partial<Parameters<typeof addWorktree>[1]> = {}) {
  return {
    folder: join(demo.root, 'trees', 'one'),
    branch: 'fairlead/one',
    from: 'main',
    lockReason: 'Fairlead session one',
    ...more,
  };
}

/** What must be as before when making a worktree failed. */
function traces(demo: TestRepository) {
  return {
    refs: demo.git('for-each-ref'),
    worktrees: demo.git('worktree', 'list', '--porcelain'),
    registrations: existsSync(join(demo.folder, '.git/worktrees'))
      ? readdirSync(join(demo.folder, '.git/worktrees'))
      : [],
    folder: existsSync(join(demo.root, 'trees', 'one')),
    leftovers: demo.leftovers(),
  };
}

describe('adding a worktree', () => {
  it('makes branch and folder from the commit, locked, following nothing', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n' });
    demo.withRemote();
    const made = await addWorktree(await demo.open(), request(demo, { from: 'origin/main' }));
    expect(made).toMatchObject({ branch: 'fairlead/one', commit: demo.tip() });
    const lane = demo.at(made.folder);
    expect(lane.status()).toBe('');
    expect(lane.tryGit('rev-parse', '@{upstream}').exitCode).not.toBe(0);
    const listed = await listWorktrees(demo.fairleadGit());
    expect(listed[1]).toMatchObject({ branch: 'fairlead/one', locked: 'Fairlead session one' });
    expect(inspectWorktree(await demo.open(), made.folder, 'fairlead/one')).toBeUndefined();
  });

  it('runs no hook of the person', async () => {
    using demo = TestRepository.with();
    demo.hook('post-checkout', 'touch "$(git rev-parse --git-common-dir)/hook-ran"');
    demo.hook('reference-transaction', 'touch "$(git rev-parse --git-common-dir)/hook-ran"');
    await addWorktree(await demo.open(), request(demo));
    expect(existsSync(join(demo.folder, '.git/hook-ran'))).toBe(false);
  });

  it.each([
    ['base.missing', { from: 'nosuch' }],
    ['base.missing', { from: '--help' }],
    ['params.invalid', { branch: 'a..b' }],
    ['params.invalid', { branch: '-x' }],
    ['branch.taken', { branch: 'main' }],
    ['branch.namespace-taken', { branch: 'main/one' }],
    ['branch.namespace-taken', { branch: 'taken' }],
  ])('refuses with %s and leaves nothing for %o', async (code, wrong) => {
    using demo = TestRepository.with();
    demo.git('branch', 'taken/already');
    const before = traces(demo);
    await expect(addWorktree(await demo.open(), request(demo, wrong))).rejects.toMatchObject({ code });
    expect(traces(demo)).toEqual(before);
  });

  it('refuses a folder that holds something, and leaves it alone', async () => {
    using demo = TestRepository.with();
    demo.at(join(demo.root, 'trees/one')).write({ mine: 'mine\n' });
    const before = traces(demo);
    await expect(addWorktree(await demo.open(), request(demo))).rejects.toMatchObject({
      code: 'worktree.failed',
    });
    expect(traces(demo)).toEqual(before);
    expect(demo.at(join(demo.root, 'trees/one')).read('mine')).toBe('mine\n');
  });

  it('takes everything back when the checkout fails half-way', async () => {
    using demo = TestRepository.with({
      'a.txt': 'a\n',
      'b.txt': 'b\n',
      '.gitattributes': 'b.txt filter=broken\n',
    });
    demo.config('filter.broken.smudge', 'false').config('filter.broken.required', 'true');
    const before = traces(demo);
    await expect(addWorktree(await demo.open(), request(demo))).rejects.toMatchObject({
      code: 'worktree.failed',
      data: { stderr: expect.stringContaining('b.txt') },
    });
    expect(traces(demo)).toEqual(before);
  });

  it('leaves nothing when it is cancelled while the files are written, and no lock of a ref', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n', '.gitattributes': 'a.txt filter=slow\n' });
    const begun = join(demo.root, 'begun');
    demo.config('filter.slow.smudge', `touch '${begun}'; exec sleep 1000`);
    const before = traces(demo);
    const cancelling = new AbortController();
    const adding = addWorktree(await demo.open(), request(demo, { signal: cancelling.signal }));
    adding.catch(() => {});
    await expect.poll(() => existsSync(begun), { timeout: 20_000 }).toBe(true);
    cancelling.abort(new Error('enough'));
    await expect(adding).rejects.toThrow('enough');
    expect(traces(demo)).toEqual(before);
  });

  it('writes only the files of a sparse checkout', async () => {
    using demo = TestRepository.with({ 'in/a.txt': 'a\n', 'out/b.txt': 'b\n' });
    demo.git('sparse-checkout', 'set', 'in');
    const made = await addWorktree(await demo.open(), request(demo));
    expect(existsSync(join(made.folder, 'in/a.txt'))).toBe(true);
    expect(existsSync(join(made.folder, 'out'))).toBe(false);
    expect(demo.at(made.folder).git('status', '--porcelain')).toBe('');
  });

  it('waits for another that is half made, and is not hindered by it for long', async () => {
    using demo = TestRepository.with();
    const repository = await demo.open();
    const halfMade = join(repository.commonDir, 'worktrees', 'other');
    mkdirSync(halfMade, { recursive: true });
    writeFileSync(join(halfMade, 'gitdir'), `${demo.root}/other/.git\n`);
    writeFileSync(join(halfMade, 'HEAD'), `${demo.tip()}\n`);
    writeFileSync(join(halfMade, 'commondir'), '');
    const refused = demo.tryGit('worktree', 'list');
    const adding = addWorktree(repository, request(demo));
    await new Promise((resolve) => setTimeout(resolve, 100));
    writeFileSync(join(halfMade, 'commondir'), '../..\n');
    await adding;
    expect(refused.stderr).toMatch(/failed to read .*commondir/);
  });

  it('says that the disk is full, and takes everything back', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n', '.gitattributes': 'a.txt filter=full\n' });
    demo.config('filter.full.smudge', 'echo "write error: No space left on device" >&2; false');
    demo.config('filter.full.required', 'true');
    const before = traces(demo);
    await expect(addWorktree(await demo.open(), request(demo))).rejects.toMatchObject({ code: 'disk.full' });
    expect(traces(demo)).toEqual(before);
  });

  it('can be taken back after a crash at any point, twice', async () => {
    using demo = TestRepository.with();
    const repository = await demo.open();
    const before = traces(demo);
    const folder = join(demo.root, 'trees', 'one');
    const made = { folder, branch: 'fairlead/one', commit: demo.tip() };
    const stages: (() => Promise<unknown> | unknown)[] = [
      () => {},
      () => demo.git('branch', 'fairlead/one'),
      () => addWorktree(repository, request(demo)),
      async () => {
        await addWorktree(repository, request(demo));
        rmSync(join(folder, '.git'));
      },
      async () => {
        await addWorktree(repository, request(demo));
        rmSync(folder, { recursive: true });
      },
    ];
    for (const stage of stages) {
      await stage();
      await discardWorktree(repository, made);
      await discardWorktree(repository, made);
      expect(traces(demo)).toEqual(before);
    }
  });

  it('is taken back with its branch though another git holds the lock of that for a moment', async () => {
    using demo = TestRepository.with();
    const repository = await demo.open();
    const { folder, branch, commit } = await addWorktree(repository, request(demo));
    const lock = join(repository.commonDir, `refs/heads/${branch}.lock`);
    writeFileSync(lock, '');
    const discarding = discardWorktree(repository, { folder, branch, commit });
    setTimeout(() => rmSync(lock), 400);
    await discarding;
    expect(demo.git('branch', '--list', branch)).toBe('');
  });

  it('keeps the branch when it has moved since it was made', async () => {
    using demo = TestRepository.with();
    const repository = await demo.open();
    const made = await addWorktree(repository, request(demo));
    const commit = demo.at(made.folder).commit({ work: 'work\n' });
    await discardWorktree(repository, made);
    expect(demo.tip('fairlead/one')).toBe(commit);
  });

  it('makes worktrees of a bare repository', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n' });
    const bare = demo.withRemote();
    const repository = await bare.worktree('lane').open();
    const made = await addWorktree(repository, request(demo));
    expect(demo.at(made.folder).read('a.txt')).toBe('a\n');
    expect(inspectWorktree(repository, made.folder, 'fairlead/one')).toBeUndefined();
  });

  it('takes the sparse checkout of the main folder along', async () => {
    using demo = TestRepository.with({ 'in/a': 'a\n', 'out/b': 'b\n' });
    demo.git('sparse-checkout', 'set', 'in');
    const made = await addWorktree(await demo.open(), request(demo));
    expect(demo.at(made.folder).read('in/a')).toBe('a\n');
    expect(demo.at(made.folder).read('out/b')).toBeUndefined();
    expect(demo.at(made.folder).status()).toBe('');
  });
});

describe('removing a worktree', () => {
  it('removes a clean one with its ignored files and keeps the branch', async () => {
    using demo = TestRepository.with({ '.gitignore': 'build/\n' });
    const repository = await demo.open();
    const { folder } = await addWorktree(repository, request(demo));
    demo.at(folder).write({ 'build/out': 'x' });
    const commit = demo.at(folder).tip();
    await removeWorktree(repository, folder);
    await removeWorktree(repository, folder);
    expect(existsSync(folder)).toBe(false);
    expect(existsSync(join(demo.folder, '.git/worktrees'))).toBe(false);
    expect(demo.tip('fairlead/one')).toBe(commit);
  });

  it.each<[string, (lane: TestRepository) => unknown, string[]]>([
    ['untracked', (lane) => lane.write({ 'new file': 'x' }), ['new file']],
    ['changed', (lane) => lane.write({ 'a.txt': 'changed\n' }), ['a.txt']],
    ['staged', (lane) => lane.write({ 'a.txt': 'changed\n' }).git('add', 'a.txt'), ['a.txt']],
    ['deleted', (lane) => lane.write({ 'a.txt': null }), ['a.txt']],
  ])('refuses one with %s files and names them', async (_, change, paths) => {
    using demo = TestRepository.with({ 'a.txt': 'a\n' });
    const repository = await demo.open();
    const { folder } = await addWorktree(repository, request(demo));
    change(demo.at(folder));
    await expect(removeWorktree(repository, folder)).rejects.toMatchObject({
      code: 'archive.unsaved',
      data: { paths },
    });
    expect(existsSync(folder)).toBe(true);
    expect((await listWorktrees(repository.git))[1]?.locked).toBe('Fairlead session one');
  });

  it('refuses one in the middle of a merge that left no trace in the files', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n' });
    const repository = await demo.open();
    const { folder, gitDir } = await addWorktree(repository, request(demo));
    demo.commitOn('side', { 'b.txt': 'b\n' });
    demo.at(folder).commit({ 'b.txt': 'b\n' });
    demo.at(folder).git('merge', '--quiet', '--no-commit', 'side');
    expect(demo.at(folder).status()).toBe('');
    expect(operationInProgress(gitDir)).toBe('merge');
    await expect(removeWorktree(repository, folder)).rejects.toMatchObject({
      code: 'archive.unsaved',
      data: { operation: 'merge' },
    });
  });

  it('refuses one with commits that no branch has, and removes it once one has', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n' });
    const repository = await demo.open();
    const { folder } = await addWorktree(repository, request(demo));
    demo.at(folder).git('switch', '--quiet', '--detach');
    demo.at(folder).commit({ 'b.txt': 'b\n' }, 'Precious');
    const refusal = {
      code: 'archive.unsaved',
      message: expect.stringMatching(/a commit is on no branch \(\w+ Precious\)/),
    };
    await expect(requireSaved(repository, folder)).rejects.toMatchObject(refusal);
    await expect(removeWorktree(repository, folder)).rejects.toMatchObject(refusal);
    demo.at(folder).git('branch', 'kept');
    await removeWorktree(repository, folder);
    expect(demo.show('kept', 'b.txt')).toBe('b\n');
  });

  it.each(['--assume-unchanged', '--skip-worktree'])(
    'refuses one with changes that %s hides',
    async (flag) => {
      using demo = TestRepository.with({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
      const repository = await demo.open();
      const { folder } = await addWorktree(repository, request(demo));
      const work = demo.at(folder);
      work.git('update-index', flag, 'a.txt', 'b.txt');
      work.write({ 'a.txt': 'mine\n' });
      expect(work.status()).toBe('');
      await expect(removeWorktree(repository, folder)).rejects.toMatchObject({
        code: 'archive.unsaved',
        data: { paths: ['a.txt'] },
      });
      work.write({ 'a.txt': 'a\n' });
      await removeWorktree(repository, folder);
    },
  );

  it('removes one with clean submodules, but not with commits that are only in there', async () => {
    using demo = TestRepository.with();
    demo.withRemote();
    demo.git('submodule', 'add', '--quiet', demo.git('remote', 'get-url', 'origin'), 'sub');
    demo.commit({}, 'Add submodule');
    const repository = await demo.open();
    const { folder } = await addWorktree(repository, request(demo));
    demo.at(folder).git('submodule', 'update', '--init', '--quiet');
    const sub = demo.at(join(folder, 'sub'));
    sub.branch('own').commit({ x: 'x' });
    sub.git('switch', '--quiet', '--detach', 'origin/main');
    await expect(removeWorktree(repository, folder)).rejects.toMatchObject({
      code: 'archive.unsaved',
      data: { paths: ['sub'] },
    });
    sub.git('branch', '-D', 'own');
    await removeWorktree(repository, folder);
    expect(existsSync(folder)).toBe(false);
  });

  it('leaves the registrations of others alone, also when their folders are missing', async () => {
    using demo = TestRepository.with();
    const repository = await demo.open();
    demo.worktree('theirs');
    rmSync(join(demo.root, 'theirs'), { recursive: true });
    const { folder } = await addWorktree(repository, request(demo));
    rmSync(folder, { recursive: true });
    await removeWorktree(repository, folder);
    expect(readdirSync(join(demo.folder, '.git/worktrees'))).toEqual(['theirs']);
  });

  it('refuses one without its .git file, inside the repository too', async () => {
    using demo = TestRepository.with({ '.gitignore': 'trees/\n' });
    const repository = await demo.open();
    const { folder } = await addWorktree(
      repository,
      request(demo, { folder: join(demo.folder, 'trees/one') }),
    );
    rmSync(join(folder, '.git'));
    demo.at(folder).write({ work: 'w' });
    await expect(removeWorktree(repository, folder)).rejects.toMatchObject({ code: 'worktree.broken' });
    expect(demo.at(folder).read('work')).toBe('w');
  });

  it('refuses a folder that is no worktree of this repository', async () => {
    using demo = TestRepository.with();
    mkdirSync(join(demo.root, 'plain'));
    await expect(removeWorktree(await demo.open(), join(demo.root, 'plain'))).rejects.toMatchObject({
      code: 'worktree.failed',
    });
  });

  it('can be locked again', async () => {
    using demo = TestRepository.with();
    const lane = demo.worktree('lane');
    await lockWorktree(demo.fairleadGit(), lane.folder, 'busy');
    await lockWorktree(demo.fairleadGit(), lane.folder, 'still busy');
    expect((await listWorktrees(demo.fairleadGit()))[1]?.locked).toBe('busy');
  });
});
