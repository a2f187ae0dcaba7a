import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { NewSession, SendPrompt, type SidecarStatus } from '../../sidecar/protocol/protocol.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { TestClient } from '../support/client.ts';
import { prompt } from '../support/model/story.ts';
import { dieAt, turnsOf } from '../support/session-faults.ts';
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

  it('makes nothing twice that is asked for again under the same id', TIMEOUT, async () => {
    await using world = await World.open();
    world.model.when(prompt(/./)).says('Understood.');
    await world.fairlead.sidecarPid();
    const environment = world.fairlead.environment;
    using one = await TestClient.connect(world.fairlead.home, { environment });
    using other = await TestClient.connect(world.fairlead.home, { environment });
    const requestId = randomUUID();
    const request = { folder: world.repository.folder, prompt: 'Begin', attempts: 2, requestId };
    const made = await Promise.all([one, other].map((client) => client.request(NewSession, request)));
    const ids = made.map(({ attempts }) => attempts.map(({ id }) => id));
    expect(ids[0]).toHaveLength(2);
    expect(ids[1]).toEqual(ids[0]);
    expect(made[1]?.session.id).toBe(made[0]?.session.id);
    expect(await world.json<Session[]>('ls')).toHaveLength(2);

    const session = made[0]?.session.id ?? '';
    await world.finished(session);
    const prompts = { session, text: 'Go on', requestId: randomUUID() };
    const sent = await Promise.all([one, other].map((client) => client.request(SendPrompt, prompts)));
    expect(sent.map(({ confirmed }) => confirmed)).toEqual([true, true]);
    expect(await one.request(SendPrompt, prompts)).toMatchObject({ confirmed: true });
    await world.finished(session);
    expect((await turnsOf(world, session)).map(([text]) => text)).toEqual(['Begin', 'Go on']);
  });
});
