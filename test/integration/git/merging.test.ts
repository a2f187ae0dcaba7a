import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCommits, signsCommits } from '../../../sidecar/git/commits.ts';
import { readIdentity } from '../../../sidecar/git/identity.ts';
import { type LandingRequest, makeLandingCommit } from '../../../sidecar/git/landing-commit.ts';
import { Merger } from '../../../sidecar/git/merging.ts';
import { mergeInCheckout } from '../../../sidecar/git/merging-checkout.ts';
import { ScratchObjects } from '../../../sidecar/git/scratch-objects.ts';
import { type Files, PERSON, TestRepository } from '../../support/repository.ts';

/** `main` and `side` with a common start. */
function fork(start: Files, main: Files, side: Files, options = {}): TestRepository {
  const demo = TestRepository.with(start, options);
  demo.commitOn('side', side);
  demo.commit(main);
  return demo;
}

async function merge(demo: TestRepository, more: { scratch?: ScratchObjects } = {}) {
  return new Merger(await demo.open()).merge({ ours: demo.tip('main'), theirs: demo.tip('side'), ...more });
}

describe.each(['sha1', 'sha256'] as const)('merging in memory (%s)', (objectFormat) => {
  it('gives the tree that git merge gives, and touches nothing', async () => {
    using demo = fork(
      { a: '1\n2\n3\n4\n5\n' },
      { a: '0\n2\n3\n4\n5\n', m: 'm\n' },
      { a: '1\n2\n3\n4\n6\n' },
      { objectFormat },
    );
    const status = demo.status();
    const refs = demo.git('for-each-ref');
    const outcome = await merge(demo);
    expect(demo.status()).toBe(status);
    expect(demo.git('for-each-ref')).toBe(refs);
    demo.git('merge', '--quiet', 'side');
    expect(outcome).toEqual({ kind: 'clean', tree: demo.tree() });
  });

  it('names the paths of a conflict, and what kind each is', async () => {
    using demo = fork(
      { 'sub dir/ü': '1\n', gone: 'a\nb\nc\n', fine: 'x\n' },
      { 'sub dir/ü': '2\n', gone: null },
      { 'sub dir/ü': '3\n', gone: 'a\nb\nc\nd\n', fine: 'y\n' },
      { objectFormat },
    );
    const outcome = await merge(demo);
    expect(outcome).toMatchObject({ kind: 'conflict', paths: ['gone', 'sub dir/ü'] });
    if (outcome.kind !== 'conflict') throw new Error('no conflict');
    expect(outcome.messages.filter(({ kind }) => kind.startsWith('CONFLICT'))).toEqual([
      { kind: 'CONFLICT (modify/delete)', paths: ['gone'], text: expect.stringContaining('gone') },
      { kind: 'CONFLICT (contents)', paths: ['sub dir/ü'], text: expect.stringContaining('Merge conflict') },
    ]);
    expect(demo.show(outcome.tree, 'sub dir/ü')).toMatch(/<<<<<<< .*\n2\n\|{7} .*\n1\n=======\n3\n>>>>>>> /);
  });
});

describe('what is no conflict', () => {
  it('an unknown commit is infrastructure, though git ends with the same exit code', async () => {
    using demo = fork({ a: '1\n' }, { b: '2\n' }, { c: '3\n' });
    const merger = new Merger(await demo.open());
    for (const theirs of ['nosuch', '1'.repeat(40), demo.tree()]) {
      expect(await merger.merge({ ours: demo.tip(), theirs })).toMatchObject({ kind: 'infrastructure' });
    }
    expect(await merger.merge({ ours: '1'.repeat(40), theirs: demo.tip() })).toMatchObject({
      kind: 'infrastructure',
    });
  });

  it('a time-out, a missing object and a missing git are infrastructure', async () => {
    using demo = fork({ a: '1\n' }, { a: '2\n' }, { a: '3\n' });
    const sides = { ours: demo.tip('main'), theirs: demo.tip('side') };
    expect(await new Merger(await demo.open()).merge({ ...sides, timeoutMs: 0 })).toMatchObject({
      kind: 'infrastructure',
    });
    const blob = demo.git('rev-parse', 'side:a');
    demo.write({ [`.git/objects/${blob.slice(0, 2)}/${blob.slice(2)}`]: null });
    expect(await merge(demo)).toMatchObject({ kind: 'infrastructure' });
  });

  it('histories without a common commit are unrelated, unless the clone is shallow', async () => {
    using demo = TestRepository.with({ a: 'a' });
    demo.git('switch', '--quiet', '--orphan', 'side');
    demo.commit({ z: 'z' });
    demo.switch('main');
    expect(await merge(demo)).toEqual({ kind: 'unrelated' });

    using deep = fork({ a: '1\n' }, { b: '2\n' }, { c: '3\n' });
    deep.withRemote();
    deep.git('push', '--quiet', 'origin', 'side');
    deep.git('config', 'remote.origin.url', `file://${join(deep.root, 'origin.git')}`);
    const shallow = deep.clone('shallow', '--depth=1', '--no-single-branch');
    shallow.git('branch', 'side', 'origin/side');
    expect(await merge(shallow)).toEqual({
      kind: 'infrastructure',
      text: expect.stringContaining('--unshallow'),
    });
  });
});

describe('attributes in a merge', () => {
  const changes = (path: string): [Files, Files, Files] => [
    { [path]: 'start\n' },
    { [path]: 'start\nmain\n' },
    { [path]: 'start\nside\n' },
  ];

  it('are those of the base at every level, wherever the person stands', async () => {
    const [start, main, side] = changes('docs/log/CHANGES');
    using demo = fork({ ...start, 'docs/.gitattributes': 'CHANGES merge=union\n' }, main, side);
    demo.git('switch', '--quiet', '--orphan', 'elsewhere');
    const outcome = await merge(demo);
    if (outcome.kind !== 'clean') throw new Error(outcome.kind);
    expect(demo.show(outcome.tree, 'docs/log/CHANGES')).toBe('start\nmain\nside\n');
  });

  it('are not taken from the branch, nor from the folder of the person', async () => {
    const [start, main, side] = changes('CHANGES');
    using demo = fork(start, main, { ...side, '.gitattributes': 'CHANGES merge=union\n' });
    demo.write({ '.gitattributes': 'CHANGES merge=union\n' });
    expect(await merge(demo)).toMatchObject({ kind: 'conflict', paths: ['CHANGES'] });
  });

  it('follow the base as it moves', async () => {
    const [start, main, side] = changes('a/CHANGES');
    using demo = fork(start, main, side);
    const merger = new Merger(await demo.open());
    const kind = async () => (await merger.merge({ ours: demo.tip('main'), theirs: demo.tip('side') })).kind;
    expect(await kind()).toBe('conflict');
    demo.commit({ 'a/.gitattributes': 'CHANGES merge=union\n' });
    expect(await kind()).toBe('clean');
    demo.commit({ 'a/.gitattributes': 'CHANGES -merge\n' });
    expect(await kind()).toBe('conflict');
    demo.commit({ 'a/.gitattributes': null, '.gitattributes': 'CHANGES merge=union\n' });
    expect(await kind()).toBe('clean');
    demo.git('mv', 'a', 'b');
    demo.commit({ '.gitattributes': { link: 'elsewhere' }, elsewhere: 'CHANGES merge=union\n' });
    expect(await kind()).toBe('conflict');
  });

  it('work in a bare repository', async () => {
    const [start, main, side] = changes('CHANGES');
    using demo = fork({ ...start, '.gitattributes': 'CHANGES merge=union\n' }, main, side);
    const bare = demo.withRemote();
    demo.git('push', '--quiet', 'origin', 'side');
    expect(await merge(bare.worktree('lane'))).toMatchObject({ kind: 'clean' });
  });

  it('leave a merge driver of the person to a real checkout, which gives its result', async () => {
    const [start, main, side] = changes('data.lock');
    using demo = fork({ ...start, '.gitattributes': '*.lock merge=relock\n', other: 'o\n' }, main, side);
    demo.config('merge.relock.driver', 'test -f other && echo driven > %A');
    const sides = { ours: demo.tip('main'), theirs: demo.tip('side') };
    expect(await merge(demo)).toEqual({ kind: 'needs-worktree', drivers: ['relock'], paths: ['data.lock'] });
    const folder = join(demo.root, 'merge-here');
    const outcome = await mergeInCheckout(await demo.open(), sides, folder);
    if (outcome.kind !== 'clean') throw new Error(outcome.kind);
    expect(demo.show(outcome.tree, 'data.lock')).toBe('driven\n');
    expect(existsSync(folder)).toBe(false);
    expect(demo.git('worktree', 'list').split('\n')).toHaveLength(1);

    demo.config('merge.relock.driver', 'exit 1');
    expect(await mergeInCheckout(await demo.open(), sides, folder)).toMatchObject({
      kind: 'conflict',
      paths: ['data.lock'],
      messages: [{ kind: 'CONFLICT (content)' }],
    });
    expect(demo.git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(demo.leftovers()).toEqual([]);
  });

  it('do not call for a checkout when only one side touches such files', async () => {
    using demo = fork(
      { 'data.lock': '1\n', '.gitattributes': '*.lock merge=relock\n' },
      { a: 'a\n' },
      { 'data.lock': '2\n' },
    );
    demo.config('merge.relock.driver', 'exit 1');
    expect(await merge(demo)).toMatchObject({ kind: 'clean' });
  });
});

describe('a trial merge', () => {
  it('leaves no object in the repository, and goes with its scratch store', async () => {
    using demo = fork({ a: '1\n2\n3\n4\n5\n' }, { a: '0\n2\n3\n4\n5\n' }, { a: '1\n2\n3\n4\n6\n' });
    const before = demo.objects();
    let folder = '';
    {
      using scratch = new ScratchObjects(await demo.open());
      folder = scratch.folder;
      const outcome = await merge(demo, { scratch });
      if (outcome.kind !== 'clean') throw new Error(outcome.kind);
      expect(demo.gitWith({ env: scratch.env }, 'show', `${outcome.tree}:a`)).toBe('0\n2\n3\n4\n6');
      expect(demo.objects()).toEqual(before);
    }
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(tmpdir())).not.toContain(folder.split('/').at(-1));
  });

  it('works in a repository whose path holds a colon and quotes', async () => {
    using demo = fork({ a: '1\n' }, { b: '2\n' }, { c: '3\n' });
    const odd = join(demo.root, 'o:d"d\\ name');
    demo.git('clone', '--quiet', demo.folder, odd);
    demo.at(odd).git('branch', 'side', 'origin/side');
    using scratch = new ScratchObjects(await demo.at(odd).open());
    expect(await merge(demo.at(odd), { scratch })).toMatchObject({ kind: 'clean' });
  });
});

describe('submodules in a merge', () => {
  it('go forward when one side is ahead, though no checkout has them', async () => {
    using library = TestRepository.with({ l: '1' });
    const first = library.tip();
    const second = library.commit({ l: '2' });
    const third = library.commit({ l: '3' });
    using demo = TestRepository.with();
    demo.git('submodule', 'add', '--quiet', library.folder, 'lib');
    const at = (commit: string) => {
      demo.at(join(demo.folder, 'lib')).git('checkout', '--quiet', commit);
      return demo.commit({}, `lib ${commit}`);
    };
    at(first);
    demo.git('switch', '--quiet', '-c', 'side');
    at(third);
    demo.git('switch', '--quiet', 'main');
    at(second);
    const outcome = await merge(demo);
    if (outcome.kind !== 'clean') throw new Error(JSON.stringify(outcome));
    expect(demo.git('ls-tree', outcome.tree, 'lib')).toContain(third);
  });
});

describe('the commit that lands', () => {
  async function land(demo: TestRepository, more: Partial<LandingRequest> = {}) {
    const repository = await demo.open();
    return makeLandingCommit(new Merger(repository), {
      method: 'merge',
      base: demo.tip('main'),
      head: demo.tip('side'),
      message: "Merge 'Fix it' (side)",
      identity: await readIdentity(repository.git),
      at: 1_700_000_000_000,
      sign: false,
      checkout: join(demo.root, 'landing'),
      ...more,
    });
  }

  it('merges with both parents, as the person', async () => {
    using demo = fork({ a: '1\n' }, { b: '2\n' }, { c: '3\n' });
    const outcome = await land(demo);
    if (outcome.kind !== 'made') throw new Error(outcome.kind);
    const [commit] = await readCommits(demo.fairleadGit(), '-1', outcome.commit);
    expect(commit).toMatchObject({
      parents: [demo.tip('main'), demo.tip('side')],
      tree: outcome.tree,
      author: PERSON,
      committedAt: 1_700_000_000,
      message: "Merge 'Fix it' (side)\n",
    });
  });

  it('squashes onto the base alone', async () => {
    using demo = fork({ a: '1\n' }, { b: '2\n' }, { c: '3\n' });
    const outcome = await land(demo, { method: 'squash', message: 'Fix it\n\nwith a body\n' });
    if (outcome.kind !== 'made') throw new Error(outcome.kind);
    const [commit] = await readCommits(demo.fairleadGit(), '-1', outcome.commit);
    expect(commit).toMatchObject({ parents: [demo.tip('main')], message: 'Fix it\n\nwith a body\n' });
  });

  it('rebases and keeps author, date and message of each commit', async () => {
    using demo = fork({ a: '1\n' }, { b: '2\n' }, {});
    demo.switch('side');
    demo.commit({ c: '3\n' }, 'One\n\nBody of one', {
      GIT_AUTHOR_NAME: 'Grace',
      GIT_AUTHOR_EMAIL: 'grace@example.com',
      GIT_AUTHOR_DATE: '1600000000 -0730',
    });
    demo.commit({ c: '4\n' }, 'Two');
    demo.switch('main');
    const outcome = await land(demo, { method: 'rebase' });
    if (outcome.kind !== 'made') throw new Error(outcome.kind);
    const commits = await readCommits(demo.fairleadGit(), '--reverse', `main..${outcome.commit}`);
    expect(commits.map(({ message }) => message)).toEqual([
      'Change on side\n',
      'One\n\nBody of one\n',
      'Two\n',
    ]);
    expect(commits[1]?.author).toEqual({
      name: 'Grace',
      email: 'grace@example.com',
      date: '1600000000 -0730',
    });
    expect(demo.show(outcome.commit, 'c')).toBe('4\n');
  });

  it('squashes a branch with merges where a rebase was asked for', async () => {
    using demo = fork({ a: '1\n' }, { b: '2\n' }, { c: '3\n' });
    demo.commitOn('inner', { d: '4\n' }, 'inner', 'side');
    demo.switch('side').git('merge', '--quiet', '--no-ff', '-m', 'm', 'inner');
    demo.switch('main');
    expect(await land(demo, { method: 'rebase' })).toMatchObject({ kind: 'made', method: 'squash' });
  });

  it.each(['merge', 'squash', 'rebase'] as const)('names the paths of a conflict (%s)', async (method) => {
    using demo = fork({ a: '1\n' }, { a: '2\n' }, { a: '3\n' });
    expect(await land(demo, { method })).toMatchObject({ kind: 'conflict', outcome: { paths: ['a'] } });
  });

  it.each(['merge', 'squash', 'rebase'] as const)(
    'is nothing when the base has it all (%s)',
    async (method) => {
      using demo = fork({ a: '1\n' }, { a: '2\n', x: 'x\n' }, { a: '2\n' });
      expect(await land(demo, { method })).toEqual({ kind: 'nothing' });
      expect(await land(demo, { method, head: demo.tip('main~1') })).toEqual({ kind: 'nothing' });
    },
  );

  it('is made in a checkout when a merge driver has a say', async () => {
    using demo = fork({ a: '1\n', '.gitattributes': 'a merge=mine\n' }, { a: '2\n' }, { a: '3\n' });
    demo.config('merge.mine.driver', 'echo driven > %A');
    const outcome = await land(demo);
    if (outcome.kind !== 'made') throw new Error(JSON.stringify(outcome));
    expect(demo.show(outcome.commit, 'a')).toBe('driven\n');
    expect(demo.git('worktree', 'list').split('\n')).toHaveLength(1);
  });

  it('is signed when the person signs, and says so when that fails', async () => {
    using demo = fork({ a: '1\n' }, { b: '2\n' }, { c: '3\n' });
    expect(await signsCommits(demo.fairleadGit())).toBe(false);
    demo.config('commit.gpgSign', 'true');
    expect(await signsCommits(demo.fairleadGit())).toBe(true);
    demo.write({
      '../signer': {
        text: '#!/bin/sh\ncat >/dev/null\necho "[GNUPG:] SIG_CREATED D" >&2\necho "-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----"\n',
        executable: true,
      },
    });
    demo.config('gpg.program', join(demo.root, 'signer'));
    const outcome = await land(demo, { sign: true });
    if (outcome.kind !== 'made') throw new Error(outcome.kind);
    expect(demo.git('cat-file', 'commit', outcome.commit)).toContain('gpgsig -----BEGIN PGP SIGNATURE-----');
    demo.config('gpg.program', 'false');
    await expect(land(demo, { sign: true })).rejects.toMatchObject({
      code: 'git.signing-failed',
      message: expect.stringContaining('The commit could not be signed'),
    });
  });
});
