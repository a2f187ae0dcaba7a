import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findMisplacedWork } from '../../../sidecar/git/work-place.ts';
import { addWorktree } from '../../../sidecar/git/worktrees.ts';
import { TestRepository } from '../../support/repository.ts';

async function place(demo: TestRepository) {
  const repository = await demo.open();
  const branch = 'fairlead/s';
  const made = await addWorktree(repository, {
    folder: join(demo.root, 'work tree'),
    branch,
    from: demo.tip(),
    lockReason: 'test',
  });
  const look = () => findMisplacedWork(repository, { branch, worktree: made.folder, life: 'active' });
  return { ...made, look, work: demo.at(made.folder) };
}

describe('a worktree that stands on another branch', () => {
  it('is named with a command that brings the work over, whatever the branch is called', async () => {
    using demo = TestRepository.with();
    const { work, look } = await place(demo);
    work.git('switch', '--quiet', '-c', ['x;touch$', '{IFS}evil|sh'].join(''));
    work.commit({ a: '1\n' });
    expect(await look()).toMatchObject({
      kind: 'other-branch',
      hint: expect.stringMatching(
        /switch fairlead\/s && git -C '.*work tree' merge 'x;touch\$\{IFS\}evil\|sh'$/,
      ),
    });
  });

  it('is on no branch where its HEAD names none that git would take, and nothing of that is an option', async () => {
    using demo = TestRepository.with();
    const { gitDir, look } = await place(demo);
    const victim = join(demo.root, 'victim');
    writeFileSync(victim, 'precious');
    for (const name of [`--output=${victim}`, 'a..b', 'a b', '.hidden', 'x.lock', '']) {
      writeFileSync(join(gitDir, 'HEAD'), `ref: refs/heads/${name}\n`);
      expect((await look())?.message).toBe(
        'The worktree stands on no branch, not on fairlead/s, and only that lands.',
      );
    }
    expect(readFileSync(victim, 'utf8')).toBe('precious');
  });
});
