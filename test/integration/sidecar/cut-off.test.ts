import { expect, it } from 'vitest';
import type { SidecarStatus } from '../../../sidecar/protocol/protocol.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { prompt } from '../../support/model/story.ts';
import { World } from '../../support/world.ts';

it('a turn that was cut off is seen, with what to do about it', { timeout: 180_000 }, async () => {
  await using world = await World.open();
  world.model
    .when(prompt(/^(Stop|Leave|Kill) it/))
    .callsTool('Bash', { command: 'mkdir made', description: 'Make a folder' });
  const begin = async (title: string) => {
    const { id } = await world.start(title, '--mode', 'manual');
    await world.asks(id);
    return id;
  };
  const run = async (...args: string[]) => (await world.fairlead.run(args)).stdout;
  const stopped = await begin('Stop it');
  await world.json('stop', stopped);
  const left = await begin('Leave it');
  const killed = await begin('Kill it');
  const { terminals } = await world.json<SidecarStatus>('status');
  process.kill(terminals.find(({ session }) => session === killed)?.pid ?? Number.NaN, 'SIGKILL');
  await world.fairlead.until(killed, ({ reason }) => reason?.kind === 'agent-ended');
  await world.fairlead.run(['down', '--all']);

  for (const id of [stopped, left]) {
    const goOn = `fairlead send ${id} "Go on"`;
    expect(await world.fairlead.show(id)).toMatchObject({
      state: 'finished',
      outcome: 'interrupted',
      facts: { life: 'sleeping' },
    });
    expect(await run('ls')).toMatch(new RegExp(`${id} .*finished \\(interrupted\\), unread`));
    const shown = await run('show', id);
    expect(shown).toMatch(/state +finished \(interrupted\) for \d+s; its agent sleeps/);
    expect(shown).toMatch(/turns +1, the last interrupted/);
    expect(shown).toContain(`Its last turn was cut off; to let it go on: ${goOn}`);
    expect(await run('log', id)).toContain('Turn 1 · interrupted');
    expect(await run('ls')).not.toMatch(new RegExp(`${id} .*unread`));
  }
  expect(await world.fairlead.show(killed)).toMatchObject({ outcome: 'interrupted' });
  expect(await run('show', killed)).toMatch(/turns +1, the last interrupted/);
  const fleet = await world.json<Session[]>('ls');
  expect(fleet.map(({ id }) => id).sort()).toEqual([stopped, left, killed].sort());
});
