import { describe, expect, it } from 'vitest';
import type { SidecarStatus } from '../../sidecar/protocol/protocol.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { prompt } from '../support/model/story.ts';
import { dieAt } from '../support/session-faults.ts';
import { gone } from '../support/sidecar.ts';
import { World } from '../support/world.ts';

const TIMEOUT = { timeout: 180_000 };

describe('kill -9 of the sidecar while it carries out a request', () => {
  it('starts no agent that was not to be started', TIMEOUT, async () => {
    await using world = await World.open();
    for (const step of ['session-planned', 'worktree-made'] as const) {
      const pid = await dieAt(world, step);
      await world.fairlead.run(['new', `Not yet at ${step}`, '--no-start'], {
        cwd: world.repository.folder,
      });
      await gone(pid);
      const sessions = await world.json<Session[]>('ls');
      const ours = sessions.filter(({ title }) => title.endsWith(step));
      expect(ours, step).toHaveLength(1);
      const made = await world.fairlead.until(ours[0]?.id ?? '', ({ facts }) => facts.life !== 'starting');
      expect(made, step).toMatchObject({ facts: { life: 'sleeping' }, state: 'sleeping', reason: null });
      expect(world.repository.at(made.worktree).status()).toBe('');
      expect((await world.json<SidecarStatus>('status')).terminals, step).toEqual([]);
    }
    // Once somebody wants it, it starts, also when that is cut off.
    world.model.when(prompt('Not yet at worktree-made')).says('Now.');
    const { id } = (await world.json<Session[]>('ls')).find(({ title }) =>
      title.endsWith('worktree-made'),
    ) ?? {
      id: '',
    };
    const pid = await dieAt(world, 'launch-stored');
    await world.fairlead.run(['resume', id]);
    await gone(pid);
    expect(await world.finished(id)).toMatchObject({ turns: 1, outcome: 'done' });
  });
});
