import { expect, it } from 'vitest';
import type { QueueEntry } from '../../../sidecar/protocol/entry.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';

it('where to land is asked once there is a remote, whatever landed before', { timeout: 60_000 }, async () => {
  using demo = TestRepository.with();
  await using fairlead = new SidecarHarness(demo.environment);
  const run = { cwd: demo.folder };
  const session = async (title: string) => {
    const made = await fairlead.json<{ session: Session }>(['new', '--no-start', title], run);
    demo.at(made.session.worktree).commit({ [title]: '1\n' }, title);
    return made.session.id;
  };

  const before = await fairlead.json<QueueEntry>(['land', await session('Before'), '--yes'], run);
  expect(before).toMatchObject({ state: 'landed', target: 'local' });
  const remote = demo.withRemote();
  const after = await session('After');
  expect(await fairlead.error(['land', after, '--yes'], run)).toMatchObject({ code: 'land.where-to-unset' });
  const landed = await fairlead.json<QueueEntry>(['land', after, '--yes', '--to', 'remote'], run);
  expect(remote.tip('main')).toBe(landed.landed);
  const kept = await fairlead.json<QueueEntry>(['land', await session('Kept'), '--yes'], run);
  expect(kept).toMatchObject({ state: 'landed', target: 'remote' });
});
