import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { firstLook } from '../../../extension/connection/first-look.ts';
import type { SidecarInfo } from '../../../sidecar/protocol/protocol.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { World } from '../../support/world.ts';

describe('the first look at a sidecar', { timeout: 60_000 }, () => {
  it('sees the sessions that the command line lists', async () => {
    await using world = await World.open();
    const { build, socket } = await world.json<SidecarInfo & { socket: string }>('up');
    expect(await firstLook(socket, { build, version: '0.0.0' })).toEqual([]);
    await world.json('new', '--no-start', '--title', 'Größe ändern', '--attempts', '3');
    const seen = await firstLook(socket, { build, version: '0.0.0' });
    expect(seen).toHaveLength(3);
    expect(seen).toEqual(await world.json<Session[]>('ls'));
  });

  it('believes no sidecar of another build, whose sessions may be other things', async () => {
    await using world = await World.open();
    const { socket } = await world.json<{ socket: string }>('up');
    await world.json('new', '--no-start', '--title', 'Seen by nobody');
    expect(await firstLook(socket, { build: 'another', version: '0.0.0' })).toBeUndefined();
  });

  it('comes back without anything where nobody listens, or where something else does', async () => {
    await using world = await World.open();
    const options = { build: 'any', version: '0.0.0' };
    expect(await firstLook(join(world.repository.root, 'none.sock'), options)).toBeUndefined();
    for (const answer of ['no JSON-RPC at all\r\n\r\n', 'Content-Length: 4\r\n\r\nnope', '']) {
      const path = join(world.repository.root, 'other.sock');
      const server = createServer((socket) =>
        socket
          .on('error', () => {})
          .resume()
          .end(answer),
      );
      await new Promise<void>((done) => server.listen(path, done));
      expect(await firstLook(path, options)).toBeUndefined();
      await new Promise((done) => server.close(done));
    }
  });
});
