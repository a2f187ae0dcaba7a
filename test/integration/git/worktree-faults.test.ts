import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inspectWorktree, requireWorktree } from '../../../sidecar/git/worktree-faults.ts';
import { addWorktree } from '../../../sidecar/git/worktrees.ts';
import { TestRepository } from '../../support/repository.ts';

describe('inspecting a worktree before an agent starts in it', () => {
  it('names what is wrong', async () => {
    using demo = TestRepository.with();
    using other = TestRepository.with();
    const repository = await demo.open();
    const { folder, gitDir } = await addWorktree(repository, {
      folder: join(demo.root, 'trees', 'one'),
      branch: 'fairlead/one',
      from: 'main',
      lockReason: 'Fairlead session one',
    });
    const look = (branch = 'fairlead/one') => inspectWorktree(repository, folder, branch);
    const lane = demo.at(folder);
    const link = lane.read('.git') ?? '';

    lane.git('switch', '--quiet', '--detach');
    expect(look()).toEqual({ kind: 'other-branch', branch: undefined });
    lane.git('switch', '--quiet', '-c', 'elsewhere');
    expect(look()).toEqual({ kind: 'other-branch', branch: 'elsewhere' });
    expect(() => requireWorktree(repository, folder, 'fairlead/one')).toThrow(/does not stand on/);
    lane.switch('fairlead/one');
    expect(look()).toBeUndefined();

    rmSync(join(folder, '.git'));
    expect(look()).toEqual({ kind: 'not-a-worktree' });
    mkdirSync(join(folder, '.git'));
    expect(look()).toEqual({ kind: 'not-a-worktree' });
    rmSync(join(folder, '.git'), { recursive: true });
    writeFileSync(join(folder, '.git'), `gitdir: ${join(other.folder, '.git')}\n`);
    expect(look()).toEqual({ kind: 'points-elsewhere', to: join(other.folder, '.git') });
    writeFileSync(join(folder, '.git'), link);
    expect(look()).toBeUndefined();

    renameSync(folder, `${folder}-moved`);
    expect(look()).toEqual({ kind: 'folder-missing' });
    expect(inspectWorktree(repository, `${folder}-moved`, 'fairlead/one')).toEqual({
      kind: 'not-registered',
    });
    demo.git('worktree', 'repair', `${folder}-moved`);
    expect(inspectWorktree(repository, `${folder}-moved`, 'fairlead/one')).toBeUndefined();

    rmSync(gitDir, { recursive: true });
    expect(inspectWorktree(repository, `${folder}-moved`, 'fairlead/one')).toEqual({
      kind: 'not-registered',
    });
  });
});
