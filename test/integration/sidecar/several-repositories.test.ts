import { expect, it } from 'vitest';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';

it('sessions of several repositories are told apart, those of one are not', {
  timeout: 120_000,
}, async () => {
  using one = TestRepository.with();
  using other = TestRepository.with();
  await using fairlead = new SidecarHarness(one.environment);
  const session = async (demo: TestRepository, title: string) => {
    const made = await fairlead.json<{ session: Session }>(['new', '--no-start', title], {
      cwd: demo.folder,
    });
    demo.at(made.session.worktree).commit({ [title]: '1\n' }, title);
    return made.session;
  };
  const told = async (...args: string[]) => (await fairlead.run(args)).stdout;
  const first = await session(one, 'First');
  const land = ['--to', 'local', '--check', 'exec sleep 600', '--no-wait'];
  await fairlead.json(['land', first.id, ...land]);
  expect(await told('ls')).not.toContain('REPO');
  expect(await told('queue')).not.toContain('REPO');
  const second = await session(other, 'Second');
  await fairlead.json(['land', second.id, ...land]);
  for (const list of ['ls', 'queue', 'status']) {
    const rows = (await told(list)).split('\n');
    expect([list, rows.some((row) => / REPO /.test(row))]).toEqual([list, true]);
    const names = [first, second].map(({ id, repo }) => {
      // As little of the path as tells them apart.
      const [name = ''] =
        rows.find((row) => row.includes(id) && !row.includes(' of '))?.match(/\S+\/\S+/) ?? [];
      expect(repo.endsWith(`/${name}`)).toBe(true);
      return name;
    });
    expect(new Set(names).size).toBe(2);
  }

  expect(await told('queue', '--base', 'main')).toContain(first.id);
  // Nothing lands there, but it could.
  other.git('branch', 'release');
  expect(await fairlead.run(['queue', '--base', 'release'])).toMatchObject({ code: 0 });
  expect(await fairlead.error(['queue', '--base', 'nope'])).toMatchObject({
    code: 'base.missing',
    exit: 3,
    message: 'There is no branch "nope" that sessions land on.',
  });
});
