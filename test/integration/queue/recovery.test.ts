import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Git } from '../../../sidecar/git/git.ts';
import { openRepository } from '../../../sidecar/git/repository.ts';
import { beginSwapJournal, newSwapJournal, pendingSwaps } from '../../../sidecar/git/swap-journal.ts';
import { Mergers } from '../../../sidecar/queue/mergers.ts';
import { demoWith, TestQueue } from '../../support/queue.ts';
import type { TestRepository } from '../../support/repository.ts';

describe('moves of a base that were cut off', () => {
  it('are ended at the start, whatever their entries came to, and one that has to wait holds up no other', async () => {
    const demo = demoWith();
    const queue = TestQueue.open(demo);
    await queue.landed(queue.session('Add', { files: { a: '1\n' } }));
    const repository = await openRepository(demo.folder, demo.fairleadGit());
    const branches = ['one', 'two', 'three', 'four', 'elsewhere'];
    for (const branch of branches) {
      demo.branch(branch, 'main~1').switch('main');
      const { folder } = demo;
      const [from, to] = [demo.tip('main~1'), demo.tip('main')];
      const journal = newSwapJournal({ branch, from, to, message: 'm', folder, gitDir: `${folder}/.git` });
      const owner = {
        ...journal.owner,
        ...(branch === 'elsewhere' ? { machine: 'another' } : { boot: 'before' }),
      };
      expect(beginSwapJournal(repository, { ...journal, owner })).toBe(true);
    }
    expect(pendingSwaps(repository)).toHaveLength(branches.length);
    await queue.restart();
    const left = () => pendingSwaps(repository).map(({ branch }) => branch);
    await expect.poll(left, { timeout: 20_000 }).toEqual(['elsewhere']);
    expect(queue.parts.logged.join()).toContain('a landing that was cut off waits');
  });

  it('are looked for in every repository, also after many environments', async () => {
    const [one, many] = [demoWith(), demoWith()];
    const mergers = new Mergers();
    const place = ({ folder }: TestRepository) => ({ main: folder, common_dir: join(folder, '.git') });
    await mergers.of(one.fairleadGit(), place(one));
    const git = many.fairleadGit();
    for (let at = 0; at < 33; at += 1) {
      const environment = { ...git.setup.environment, SHELL_NUMBER: String(at) };
      await mergers.of(new Git(git.folder, { ...git.setup, environment }), place(many));
    }
    expect(mergers.repositories.map(({ topLevel }) => topLevel)).toEqual([one.folder, many.folder]);
  });
});
