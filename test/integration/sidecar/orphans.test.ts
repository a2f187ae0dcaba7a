import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { prompt } from '../../support/model/story.ts';
import { gone } from '../../support/sidecar.ts';
import { World } from '../../support/world.ts';

it('agents that nobody knows of any more are counted when they are ended', { timeout: 120_000 }, async () => {
  await using world = await World.open();
  world.model.when(prompt('say hello')).says('Hello.');
  world.model.when(prompt('say bye')).says('Bye.');
  for (const text of ['say hello', 'say bye']) await world.finished((await world.start(text)).id);
  const { sidecar, terminals } = await world.json<{
    sidecar: { pid: number };
    terminals: { pid: number }[];
  }>('status');
  process.kill(sidecar.pid, 'SIGKILL');
  await gone(sidecar.pid);
  for (const part of ['', '-wal', '-shm']) {
    rmSync(join(world.fairlead.home, `state.db${part}`), { force: true });
  }
  expect((await world.fairlead.run(['down', '--all'])).stdout).toBe(
    'The sidecar has ended, and 2 agents with it.\n',
  );
  for (const { pid } of terminals) await gone(pid);
});
