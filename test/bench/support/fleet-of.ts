import { ListSessions, NewSession } from '../../../sidecar/protocol/protocol.ts';
import { TestClient } from '../../support/client.ts';
import type { World } from '../../support/world.ts';

/** How many sessions are made at a time. */
const AT_ONCE = 4;

/** Makes sessions without an agent until there are `count`, each with branch and worktree. */
export async function growFleet(world: World, count: number): Promise<void> {
  const { fairlead, repository } = world;
  await fairlead.json(['up']);
  using client = await TestClient.connect(fairlead.home, { environment: fairlead.environment });
  let made = (await client.request(ListSessions, {})).length;
  const make = async () => {
    while (made < count) {
      made += 1;
      await client.request(NewSession, { folder: repository.folder, title: `Task ${made}`, start: false });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, make));
}
