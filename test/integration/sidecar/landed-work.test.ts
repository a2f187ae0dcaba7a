import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { QueueEntry } from '../../../sidecar/protocol/entry.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';

describe('work that has landed', { timeout: 120_000 }, () => {
  let demo: TestRepository;
  let fairlead: SidecarHarness;
  beforeEach(() => {
    demo = TestRepository.with({ 'a.txt': 'a\n' });
    fairlead = new SidecarHarness(demo.environment);
  });
  afterEach(async () => {
    await fairlead[Symbol.asyncDispose]();
    demo[Symbol.dispose]();
  });
  const run = (...args: string[]) => fairlead.run(args, { cwd: demo.folder });
  const session = async (title: string) => {
    const made = await fairlead.json<{ session: Session }>(['new', '--no-start', title], {
      cwd: demo.folder,
    });
    return made.session;
  };
  const land = (id: string, ...args: string[]) =>
    fairlead.json<QueueEntry>(['land', id, '--to', 'local', '--yes', ...args], { cwd: demo.folder });
  const pathsOf = (patch: string) => [...patch.matchAll(/^diff --git a\/(\S+)/gm)].map(([, path]) => path);

  it.each(['merge', 'squash', 'rebase'])('by %s is what diff shows, alone', async (method) => {
    const { id, worktree } = await session('Work');
    demo.at(worktree).commit({ one: '1\n' }, 'One');
    demo.at(worktree).commit({ two: '2\n' }, 'Two');
    demo.commit({ other: '1\n' }, 'Of the person');
    await land(id, '--method', method);
    demo.commit({ later: '1\n' }, 'Later');
    expect(pathsOf((await run('diff', id)).stdout)).toEqual(['one', 'two']);
    expect((await run('diff', id, '--stat')).stdout).toContain('2 files, +2 -0');
    await run('archive', id);
    expect(pathsOf((await run('diff', id)).stdout)).toEqual(['one', 'two']);
    demo.git('branch', '--delete', '--force', 'fairlead/work');
    expect(pathsOf((await run('diff', id)).stdout)).toEqual(['one', 'two']);
  });

  it('is told to have landed, by diff and to whoever lands it again', async () => {
    const { id, worktree } = await session('Work');
    demo.at(worktree).commit({ one: '1\n' }, 'One');
    const { landed } = await land(id, '--method', 'merge');
    const commit = String(landed).slice(0, 10);
    expect((await run('diff', id)).stdout).toMatch(new RegExp(`^# It landed on main as ${commit},.*\ndiff`));
    const again = await run('land', id, '--to', 'local');
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain(`It has landed already, on main as ${commit}; nothing came after.`);
    expect(again.stderr).toContain(`fairlead diff ${id}`);
    const shown = await run('show', id);
    expect(shown.stdout).toContain(`fairlead archive ${id}`);
  });

  it('as it was, without a merge, is told apart from what landed before it', async () => {
    const { id, worktree } = await session('Work');
    const work = demo.at(worktree);
    work.commit({ one: '1\n' }, 'One');
    work.commit({ two: '2\n' }, 'Two');
    const first = await land(id, '--method', 'rebase');
    expect(first.landed).toBe(first.head);
    expect(pathsOf((await run('diff', id)).stdout)).toEqual(['one', 'two']);
    work.commit({ three: '3\n' }, 'Three');
    expect(pathsOf((await run('diff', id)).stdout)).toEqual(['three']);
    await land(id, '--method', 'rebase');
    expect(pathsOf((await run('diff', id)).stdout)).toEqual(['three']);
  });

  it('is not spoken of where nothing has changed', async () => {
    const { id } = await session('Work');
    const { id: other } = await session('Work');
    expect(await run('diff', id)).toEqual({
      code: 0,
      stdout: '',
      stderr: `${id} has changed nothing since it left its base.\n`,
    });
    expect((await run('diff', id, other)).stderr).toBe(`The work of ${id} and of ${other} is the same.\n`);
  });
});

describe('work of an archived session', { timeout: 120_000 }, () => {
  it('goes on by what its hints say, and lands on its base', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n' });
    await using fairlead = new SidecarHarness(demo.environment);
    const run = (...args: string[]) => fairlead.run(args, { cwd: demo.folder });
    const { session } = await fairlead.json<{ session: Session }>(['new', '--no-start', 'Work'], {
      cwd: demo.folder,
    });
    const { id, worktree } = session;
    demo.at(worktree).commit({ 'a.txt': 'of the session\n' }, 'Work');
    await run('archive', id);
    const refused = await run('send', id, 'More');
    expect(refused.stderr).toContain(`fairlead land ${id}`);
    expect(refused.stderr).toContain("fairlead new --base main 'Merge fairlead/work into this branch");
    demo.commit({ 'a.txt': 'of the person\n' }, 'Other work');
    const conflict = await run('land', id, '--to', 'local');
    expect(conflict.stderr).not.toContain('fairlead send');
    const next = /fairlead new --base (\S+) "(.+)"/.exec(conflict.stderr);
    expect(next?.[1]).toBe('main');
    // What the hint says, as far as it goes without an agent.
    const after = await fairlead.json<{ session: Session }>(
      ['new', '--no-start', '--base', 'main', String(next?.[2])],
      { cwd: demo.folder },
    );
    const other = demo.at(after.session.worktree);
    expect(() => other.git('merge', 'fairlead/work')).toThrow();
    other.commit({ 'a.txt': 'of both\n' }, 'Resolved');
    await fairlead.json(['land', after.session.id, '--to', 'local'], { cwd: demo.folder });
    expect(demo.show('main', 'a.txt')).toBe('of both\n');
    expect((await run('show', id)).stdout).toContain('removed (was');
  });
});
