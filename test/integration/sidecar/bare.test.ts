import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';

it('sessions of a bare repository outlive the worktree that they were asked for in', {
  timeout: 120_000,
}, async () => {
  using repository = TestRepository.with({ 'README.md': '# Demo\n' });
  await using fairlead = new SidecarHarness(repository.environment);
  const bare = join(repository.root, 'bare.git');
  repository.git('clone', '--quiet', '--bare', repository.folder, bare);
  const [one, two] = ['one', 'two'].map((name) => {
    const folder = join(repository.root, name);
    repository.at(bare).git('worktree', 'add', '--quiet', '-b', name, folder, 'main');
    return folder;
  });
  const start = async (cwd = '') => {
    const made = await fairlead.json<{ session: Session }>(['new', '--no-start', '--base', 'main', 'Work'], {
      cwd,
    });
    return made.session;
  };
  const first = await start(one);
  const second = await start(two);
  // What it is called does not depend on who asked last.
  expect([first.repo, second.repo, (await fairlead.show(first.id)).repo]).toEqual([one, one, one]);
  renameSync(one ?? '', join(repository.root, 'away'));
  expect(await fairlead.show(first.id)).toMatchObject({ repo: two });
  repository.at(second.worktree).commit({ 'a.txt': 'a\n' }, 'Work');
  expect(await fairlead.json(['land', second.id, '--to', 'local'])).toMatchObject({ state: 'landed' });
  expect(await fairlead.json(['archive', first.id])).toMatchObject({ state: 'archived' });
});
