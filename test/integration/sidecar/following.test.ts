import { expect, it } from 'vitest';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { EventStream } from '../../support/event-stream.ts';
import { World } from '../../support/world.ts';

it('goes on with every event, each once, when the sidecar is killed and started again', {
  timeout: 120_000,
}, async () => {
  await using world = await World.open();
  const make = async (prompt: string) => (await world.start(prompt, '--no-start')).id;
  const first = await make('One');
  await using stream = new EventStream(world.fairlead);
  await stream.until(({ session }) => session === first);
  await world.fairlead.killSidecar();
  const second = await make('Two');
  await stream.until(({ session }) => session === second);
  const third = await make('Three');
  await stream.until(({ session }) => session === third);
  const kept = await world.fairlead.run(['events', '--json']);
  const all = kept.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).seq);
  expect(stream.seen.map(({ seq }) => seq)).toEqual(all.slice(0, stream.seen.length));
  expect(stream.seen.length).toBeGreaterThanOrEqual(3);
  const sessions = await world.json<Session[]>('ls');
  expect(sessions).toHaveLength(3);
});
