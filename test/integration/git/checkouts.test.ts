import { describe, expect, it } from 'vitest';
import { checkoutsOf } from '../../../sidecar/git/checkouts.ts';
import { TestRepository } from '../../support/repository.ts';

describe('where a branch is checked out', () => {
  it('finds the folder, also in the middle of a rebase or a bisect of it', async () => {
    using demo = TestRepository.with({ 'a.txt': 'a\n' });
    const lane = demo.worktree('lane');
    const repository = await demo.open();
    const of = async (branch: string) =>
      (await checkoutsOf(repository, branch)).map(({ folder, busy }) => ({ folder, busy }));
    expect(await of('lane')).toEqual([{ folder: lane.folder, busy: false }]);
    expect(await of('nosuch')).toEqual([]);

    lane.commit({ 'a.txt': 'lane\n' });
    demo.commit({ 'a.txt': 'main\n' });
    expect(lane.tryGit('rebase', 'main').exitCode).toBe(1);
    expect(await of('lane')).toEqual([{ folder: lane.folder, busy: true }]);
    lane.git('rebase', '--abort');
    lane.git('bisect', 'start', 'HEAD', 'HEAD~1');
    lane.git('checkout', '--quiet', '--detach');
    expect(await of('lane')).toEqual([{ folder: lane.folder, busy: true }]);
  });
});
