import { expect, it } from 'vitest';
import type { Turn } from '../../../sidecar/protocol/session.ts';
import { Attached } from '../../support/attached.ts';
import { prompt } from '../../support/model/story.ts';
import { World } from '../../support/world.ts';

it('shows a message that steers a turn in the turn that it steered', { timeout: 120_000 }, async () => {
  await using world = await World.open({ env: { CLAUDE_CODE_MAX_RETRIES: '0' } });
  const wait = { command: 'sleep 5', description: 'Wait' };
  world.model.when(prompt('Count slowly')).callsTool('Bash', wait);
  world.model.when(prompt('and backwards')).says('Both ways.');
  const { id } = await world.start('Count slowly');
  await using attached = new Attached(world.fairlead, id);
  await attached.shows('sleep 5');
  attached.type('and backwards');
  await attached.shows('and backwards');
  attached.type('\r');
  await world.finished(id);
  const turns = await world.json<Turn[]>('log', id);
  expect(turns).toMatchObject([
    { prompt: 'Count slowly', messages: [{ text: 'and backwards' }], answer: 'Both ways.' },
  ]);
  const { stdout } = await world.fairlead.run(['log', id]);
  expect(stdout).toContain('> Count slowly\n>\n> and backwards\n\nBoth ways.');
});
