import { ListSessions, NewSession } from '../../../sidecar/protocol/protocol.ts';
import { TestClient } from '../../support/client.ts';
import type { World } from '../../support/world.ts';

/** Makes sessions without an agent until there are `count`, each with branch and worktree. */
export async function growFleet(world: World, count: number): Promise<void> {
  const { fairlead, repository } = world;
  await fairlead.json(['up']);
  using client = await TestClient.connect(fairlead.home, { environment: fairlead.environment });
  const { length: there } = await client.request(ListSessions, {});
  for (let number = there + 1; number <= count; number += 1) {
    await client.request(NewSession, { folder: repository.folder, title: `Task ${number}`, start: false });
  }
}
