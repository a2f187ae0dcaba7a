import { expect, it } from 'vitest';
import type { QueueEntry } from '../../../sidecar/protocol/entry.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { CommandTerminal } from '../../support/command-terminal.ts';
import { prompt } from '../../support/model/story.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';
import { World } from '../../support/world.ts';

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

it('where to land is neither asked nor kept where nothing lands', { timeout: 60_000 }, async () => {
  using demo = TestRepository.with();
  demo.withRemote();
  await using fairlead = new SidecarHarness(demo.environment);
  const run = { cwd: demo.folder };
  const { session } = await fairlead.json<{ session: Session }>(['new', '--no-start', 'Work'], run);
  const nothing = { code: 'land.nothing-to-land' };
  expect(await fairlead.error(['land', session.id, '--yes'], run)).toMatchObject(nothing);
  expect(await fairlead.error(['land', session.id, '--yes', '--to', 'remote'], run)).toMatchObject(nothing);
  {
    // Where somebody could be asked.
    using terminal = CommandTerminal.run(fairlead, ['land', session.id], run);
    expect(await terminal.ended).toBe(1);
    expect(terminal.text).toContain('There is nothing to land on main.');
    expect(terminal.text).not.toContain('Where does main land?');
  }
  demo.at(session.worktree).commit({ a: '1\n' }, 'Work');
  expect(await fairlead.error(['land', session.id, '--yes'], run)).toMatchObject({
    code: 'land.where-to-unset',
  });
});

it('where to land is asked once more after an answer that is none, and then no more', {
  timeout: 60_000,
}, async () => {
  using demo = TestRepository.with();
  demo.withRemote();
  await using fairlead = new SidecarHarness(demo.environment);
  const { session } = await fairlead.json<{ session: Session }>(['new', '--no-start', 'Work'], {
    cwd: demo.folder,
  });
  demo.at(session.worktree).commit({ a: '1\n' }, 'Work');
  const land = () => CommandTerminal.run(fairlead, ['land', session.id, '--no-wait'], { cwd: demo.folder });
  {
    using terminal = land();
    await terminal.shows(/Number: *$/m);
    terminal.type('y\r');
    await terminal.shows('"y" is none of them. Give a number from 1 to 2.');
    await terminal.shows(/from 1 to 2\.\s+Number: *$/m);
    terminal.type('7\r');
    expect(await terminal.ended).toBe(1);
    expect(terminal.text).toContain('"7" is none of them.');
    expect((await fairlead.show(session.id)).queue).toBeNull();
  }
  using terminal = land();
  await terminal.shows(/Number: *$/m);
  terminal.type('x\r');
  await terminal.shows(/from 1 to 2\.\s+Number: *$/m);
  terminal.type('2\r');
  expect(await terminal.ended).toBe(0);
  expect(terminal.text).toContain('in this clone only from now on');
});

it('where to land is asked for what an agent may come to that asks, and has written nothing', {
  timeout: 90_000,
}, async () => {
  await using world = await World.open();
  world.repository.withRemote();
  world.model
    .when(prompt('Take notes'))
    .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/notes.md`, content: 'Noted.\n' }))
    .thenSays('Noted.');
  const { id } = await world.start('Take notes', '--mode', 'manual');
  await world.asks(id);
  using terminal = CommandTerminal.run(world.fairlead, ['land', id, '--no-wait', '--yes'], {
    cwd: world.repository.folder,
  });
  await terminal.shows(/Number: *$/m);
  terminal.type('2\r');
  expect(await terminal.ended).toBe(0);
  // It may come to nothing: the answer was for this time.
  expect(terminal.text).not.toContain('from now on');
  await world.json('answer', id, 'allow');
  await world.json('wait', id, '--for', 'landed', '--timeout', '60');
  expect(world.repository.show('main', 'notes.md')).toBe('Noted.\n');
});
