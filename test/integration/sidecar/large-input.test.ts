import { expect, it } from 'vitest';
import { ListSessions, SessionChanged, ShowNeed } from '../../../sidecar/protocol/protocol.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { TestClient } from '../../support/client.ts';
import { prompt } from '../../support/model/story.ts';
import { World } from '../../support/world.ts';

it('tells clients the beginning of a long input, and the whole of it when asked', {
  timeout: 120_000,
}, async () => {
  await using world = await World.open();
  const content = 'a line of a long file\n'.repeat(20_000);
  world.model
    .when(prompt('Write the long file'))
    .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/long.txt`, content }))
    .thenSays('Written.');
  const { id } = await world.start('Write the long file', '--mode', 'manual');
  using client = await TestClient.connect(world.fairlead.home);
  const told: Session[] = [];
  client.on(SessionChanged, (session) => told.push(session));
  const { need } = await world.asks(id);
  const [listed] = await client.request(ListSessions, {});
  expect(JSON.stringify(listed).length).toBeLessThan(70_000);
  expect(listed?.reason).toMatchObject({ truncated: true, tool: 'Write' });
  expect(await client.request(ShowNeed, { session: id })).toMatchObject({
    need,
    reason: { input: { content } },
  });
  const shown = await world.fairlead.show(id);
  expect(shown.reason).toMatchObject({ input: { content } });
  await world.fairlead.killSidecar();
  await world.fairlead.until(id, ({ reason }) => JSON.stringify(reason).length > content.length);
  await world.json('answer', id, 'allow', '--need', String(need));
  await world.finished(id);
  expect(told.every((session) => JSON.stringify(session).length < 70_000)).toBe(true);
});
