import { existsSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findBase } from '../../../sidecar/git/base.ts';
import { fetchRef, lastFetch, push } from '../../../sidecar/git/remotes.ts';
import { TestRepository } from '../../support/repository.ts';

const MAIN = { remote: 'origin', ref: 'refs/heads/main' };
const TRACKED = { ...MAIN, tracking: 'refs/remotes/origin/main' };

describe('fetching one ref', () => {
  it('brings the value that the remote has, also after it was rewound', async () => {
    using demo = TestRepository.with();
    const remote = demo.withRemote();
    const theirs = demo.clone().commit({ b: 'b' });
    demo.at(join(demo.root, 'second')).git('push', '--quiet');
    const repository = await demo.open();
    expect(await fetchRef(repository, TRACKED)).toEqual({ kind: 'ok', commit: theirs });
    remote.git('update-ref', 'refs/heads/main', demo.tip('main'));
    expect(await fetchRef(repository, TRACKED)).toEqual({ kind: 'ok', commit: demo.tip('main') });
    expect(demo.tip('origin/main')).toBe(demo.tip('main'));
  });

  it('tells a missing ref, a missing repository, and a refused sign-in apart', async () => {
    using demo = TestRepository.with();
    const remote = demo.withRemote();
    const repository = await demo.open();
    expect(await fetchRef(repository, { ...TRACKED, ref: 'refs/heads/nosuch' })).toEqual({
      kind: 'missing-ref',
    });
    renameSync(remote.folder, `${remote.folder}-away`);
    expect(await fetchRef(repository, TRACKED)).toMatchObject({ kind: 'missing-repository' });
    expect(await fetchRef(repository, { ...TRACKED, remote: 'nosuch' })).toMatchObject({
      kind: 'missing-repository',
    });
    demo.git('remote', 'set-url', 'origin', 'ssh://somewhere/x');
    const env = { GIT_SSH_COMMAND: 'echo "git@somewhere: Permission denied (publickey)." >&2; exit 255 #' };
    expect(await fetchRef(repository, TRACKED, { env })).toMatchObject({ kind: 'auth' });
  });

  it('is offline when nobody answers, and when nobody answers in time', async () => {
    using demo = TestRepository.with();
    demo.withRemote();
    const repository = await demo.open();
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    demo.git('remote', 'set-url', 'origin', `git://127.0.0.1:${port}/x`);
    expect(await fetchRef(repository, TRACKED, { timeoutMs: 300 })).toMatchObject({ kind: 'offline' });
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
    expect(await fetchRef(repository, TRACKED)).toMatchObject({ kind: 'offline' });
  });

  it('remembers when it last worked, whatever failed since', async () => {
    using demo = TestRepository.with();
    const remote = demo.withRemote();
    const repository = await demo.open();
    expect(lastFetch(repository, 'origin')).toBeUndefined();
    await fetchRef(repository, TRACKED);
    const first = lastFetch(repository, 'origin');
    expect(first).toBeTypeOf('number');
    renameSync(remote.folder, `${remote.folder}-away`);
    await fetchRef(repository, TRACKED);
    demo.tryGit('fetch');
    expect(lastFetch(repository, 'origin')).toBe(first);
    renameSync(`${remote.folder}-away`, remote.folder);
    demo.git('fetch', '--quiet');
    utimesSync(join(demo.folder, '.git/FETCH_HEAD'), 4_000_000_000, 4_000_000_000);
    expect(lastFetch(repository, 'origin')).toBe(4_000_000_000_000);
  });

  it('takes no name of a remote for an option', async () => {
    using demo = TestRepository.with();
    const odd = await fetchRef(await demo.open(), { ...TRACKED, remote: '--upload-pack=touch x' });
    expect(odd.kind).not.toBe('ok');
    expect(demo.read('x')).toBeUndefined();
  });

  it('can be cancelled', async () => {
    using demo = TestRepository.with();
    demo.withRemote();
    demo.git('remote', 'set-url', 'origin', 'ssh://somewhere/x');
    await expect(
      fetchRef(await demo.open(), TRACKED, {
        env: { GIT_SSH_COMMAND: 'sleep 60 #' },
        signal: AbortSignal.timeout(200),
      }),
    ).rejects.toMatchObject({ code: 'cancelled' });
  });
});

describe('pushing', () => {
  it('lands on the value seen, and says when it is there already', async () => {
    using demo = TestRepository.with();
    const remote = demo.withRemote();
    const seen = demo.tip();
    const commit = demo.commit({ b: 'b' });
    expect(await push(demo.fairleadGit(), { ...MAIN, commit, seen })).toEqual({ kind: 'landed' });
    expect(remote.tip('main')).toBe(commit);
    expect(await push(demo.fairleadGit(), { ...MAIN, commit, seen: commit })).toEqual({ kind: 'up-to-date' });
  });

  it('creates a ref that must not exist yet', async () => {
    using demo = TestRepository.with();
    const remote = demo.withRemote();
    const ref = 'refs/heads/fresh';
    const first = { remote: 'origin', ref, commit: demo.tip(), seen: undefined };
    expect(await push(demo.fairleadGit(), first)).toEqual({ kind: 'landed' });
    const commit = demo.commit({ b: 'b' });
    expect(await push(demo.fairleadGit(), { ...first, commit })).toMatchObject({ kind: 'base-moved' });
    expect(remote.tip('fresh')).toBe(demo.tip('HEAD~1'));
  });

  it('does not move a base that moved, forwards or backwards', async () => {
    using demo = TestRepository.with();
    const remote = demo.withRemote();
    const start = demo.tip();
    const second = demo.clone();
    const theirs = second.commit({ c: 'c' });
    second.git('push', '--quiet');
    const commit = demo.commit({ b: 'b' });
    expect(await push(demo.fairleadGit(), { ...MAIN, commit, seen: start })).toMatchObject({
      kind: 'base-moved',
    });
    expect(remote.tip('main')).toBe(theirs);

    demo.git('fetch', '--quiet');
    demo.git('reset', '--quiet', '--hard', theirs);
    const after = demo.commit({ d: 'd' });
    remote.git('update-ref', 'refs/heads/main', start);
    expect(await push(demo.fairleadGit(), { ...MAIN, commit: after, seen: theirs })).toMatchObject({
      kind: 'base-moved',
    });
    expect(remote.tip('main')).toBe(start);
  });

  it('refuses to rewind before anything is sent', async () => {
    using demo = TestRepository.with();
    demo.withRemote();
    const commit = demo.tip();
    const seen = demo.commit({ b: 'b' });
    await expect(push(demo.fairleadGit(), { ...MAIN, commit, seen })).rejects.toMatchObject({
      code: 'internal',
    });
  });

  it('brings back what a hook on the other side said', async () => {
    using demo = TestRepository.with();
    const remote = demo.withRemote();
    remote.hook('pre-receive', 'echo "main is protected: open a pull request" >&2; exit 1');
    const seen = demo.tip();
    const outcome = await push(demo.fairleadGit(), { ...MAIN, commit: demo.commit({ b: 'b' }), seen });
    expect(outcome).toMatchObject({
      kind: 'refused',
      text: expect.stringMatching(/main is protected: open a pull request[\s\S]*pre-receive hook declined/),
    });
    expect(remote.tip('main')).toBe(seen);
  });

  it('is refused by a repository that has the branch checked out', async () => {
    using demo = TestRepository.with();
    demo.git('remote', 'add', 'peer', join(demo.root, 'peer'));
    demo.git('clone', '--quiet', demo.folder, join(demo.root, 'peer'));
    const seen = demo.tip();
    const commit = demo.commit({ b: 'b' });
    expect(
      await push(demo.fairleadGit(), { remote: 'peer', ref: 'refs/heads/main', commit, seen }),
    ).toMatchObject({ kind: 'refused' });
  });

  it("runs the person's pre-push hook and tells its no from one of the remote", async () => {
    using demo = TestRepository.with();
    const remote = demo.withRemote();
    demo.hook('pre-push', 'echo "tests are red" >&2; exit 1');
    const seen = demo.tip();
    const outcome = await push(demo.fairleadGit(), { ...MAIN, commit: demo.commit({ b: 'b' }), seen });
    expect(outcome).toEqual({ kind: 'local-hook', text: expect.stringContaining('tests are red') });
    expect(remote.tip('main')).toBe(seen);
  });

  it('is worth another try when the other side is locked', async () => {
    using demo = TestRepository.with();
    const remote = demo.withRemote();
    writeFileSync(join(remote.folder, 'refs/heads/main.lock'), '');
    const seen = demo.tip();
    expect(await push(demo.fairleadGit(), { ...MAIN, commit: demo.commit({ b: 'b' }), seen })).toMatchObject({
      kind: 'retry',
    });
  });

  it('loses a race that is decided after the greeting', async () => {
    using demo = TestRepository.with();
    const remote = demo.withRemote();
    const seen = demo.tip();
    const theirs = demo.clone().commit({ c: 'c' });
    demo.at(join(demo.root, 'second')).git('push', '--quiet', 'origin', 'HEAD:refs/heads/other');
    remote.hook(
      'pre-receive',
      `unset GIT_QUARANTINE_PATH; git update-ref refs/heads/main ${theirs} || echo raced badly >&2`,
    );
    expect(await push(demo.fairleadGit(), { ...MAIN, commit: demo.commit({ b: 'b' }), seen })).toMatchObject({
      kind: 'base-moved',
    });
    expect(remote.tip('main')).toBe(theirs);
  });

  it('does not know the outcome when the remote is gone', async () => {
    using demo = TestRepository.with();
    const remote = demo.withRemote();
    renameSync(remote.folder, `${remote.folder}-away`);
    const seen = demo.tip();
    expect(await push(demo.fairleadGit(), { ...MAIN, commit: demo.commit({ b: 'b' }), seen })).toMatchObject({
      kind: 'unreachable',
      trouble: 'missing-repository',
    });
    expect(existsSync(remote.folder)).toBe(false);
  });
});

describe('the base of a session', () => {
  it('is the branch that is checked out', async () => {
    using demo = TestRepository.with();
    demo.branch('work').commit({ a: 'a' });
    expect(await findBase(await demo.open(), undefined)).toMatchObject({
      branch: 'work',
      commit: demo.tip('work'),
      from: 'refs/heads/work',
      upstream: undefined,
      stale: undefined,
    });
    expect(await findBase(await demo.open(), 'main')).toMatchObject({
      branch: 'main',
      commit: demo.tip('main'),
    });
  });

  it('is the upstream, freshly fetched, when that is strictly ahead', async () => {
    using demo = TestRepository.with();
    demo.withRemote();
    const theirs = demo.clone().commit({ b: 'b' });
    demo.at(join(demo.root, 'second')).git('push', '--quiet');
    const base = await findBase(await demo.open(), undefined);
    expect(base).toMatchObject({
      branch: 'main',
      commit: theirs,
      from: 'refs/remotes/origin/main',
      ahead: 0,
      upstream: { remote: 'origin', ref: 'refs/heads/main', tracking: 'refs/remotes/origin/main' },
    });
    expect(await findBase(await demo.open(), 'origin/main')).toEqual(base);
  });

  it('stays the local branch when both have moved', async () => {
    using demo = TestRepository.with();
    demo.withRemote();
    demo.clone().commit({ b: 'b' });
    demo.at(join(demo.root, 'second')).git('push', '--quiet');
    const mine = demo.commit({ a: 'a' });
    expect(await findBase(await demo.open(), undefined)).toMatchObject({ commit: mine, ahead: 1 });
  });

  it('says how old it is when the remote cannot be reached', async () => {
    using demo = TestRepository.with();
    const remote = demo.withRemote();
    await findBase(await demo.open(), undefined);
    renameSync(remote.folder, `${remote.folder}-away`);
    expect(await findBase(await demo.open(), undefined)).toMatchObject({
      commit: demo.tip(),
      stale: { why: 'missing-repository', lastFetch: expect.any(Number) },
    });
  });

  it('is that of the worktree that was opened, not of the main checkout', async () => {
    using demo = TestRepository.with();
    const lane = demo.worktree('lane');
    lane.commit({ a: 'a' });
    expect(await findBase(await lane.open(), undefined)).toMatchObject({
      branch: 'lane',
      commit: lane.tip(),
    });
  });

  it('must be a branch that exists', async () => {
    using demo = TestRepository.with();
    const repository = await demo.open();
    await expect(findBase(repository, 'nosuch')).rejects.toMatchObject({ code: 'base.missing' });
    await expect(findBase(repository, demo.tip())).rejects.toMatchObject({ code: 'base.missing' });
    demo.git('switch', '--quiet', '--detach');
    await expect(findBase(repository, undefined)).rejects.toMatchObject({ code: 'repo.detached-head' });
    using empty = TestRepository.empty();
    await expect(findBase(await empty.open(), undefined)).rejects.toMatchObject({
      code: 'repo.no-commit',
    });
  });
});
