import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SidecarStatus } from '../../../sidecar/protocol/protocol.ts';
import { CONFIRM_WITHIN_MS } from '../../../sidecar/sessions/delivery.ts';
import { prompt } from '../../support/model/story.ts';
import { asked, turnsOf } from '../../support/session-faults.ts';
import { World } from '../../support/world.ts';

describe('an agent that stalls', () => {
  it('gets a prompt once, however long it stalls', { timeout: 180_000 }, async () => {
    await using world = await World.open();
    world.model.when(prompt(/./)).says('Understood.');
    const { id } = await world.start('Begin');
    await world.finished(id);
    const [agent] = (await world.json<SidecarStatus>('status')).terminals;
    if (agent === undefined) throw new Error('no agent');

    // Longer than a prompt is waited for, shorter than it is doubted.
    process.kill(agent.pid, 'SIGSTOP');
    const short = world.json<{ confirmed: boolean }>('send', id, 'through a short stall');
    const doubts = () => readFileSync(join(world.fairlead.home, 'logs', 'sidecar.log'), 'utf8');
    await expect.poll(doubts, { timeout: CONFIRM_WITHIN_MS + 30_000 }).toContain('"prompt doubted"');
    process.kill(agent.pid, 'SIGCONT');
    expect(await short).toMatchObject({ confirmed: true });
    await world.finished(id);

    // Until a person is told.
    process.kill(agent.pid, 'SIGSTOP');
    const error = await world.error('send', id, 'through a long stall');
    expect(error).toMatchObject({ code: 'prompt.undelivered' });
    expect(error.message).toContain('may have a prompt that was typed');
    expect(await world.fairlead.show(id)).toMatchObject({ reason: { kind: 'prompt-undelivered' } });
    process.kill(agent.pid, 'SIGCONT');
    await world.fairlead.until(id, ({ turns, state }) => turns === 3 && state === 'finished');

    expect(await turnsOf(world, id)).toEqual([
      ['Begin', 'done'],
      ['through a short stall', 'done'],
      ['through a long stall', 'done'],
    ]);
    expect(asked(world)).toHaveLength(3);
    expect(await world.fairlead.show(id)).toMatchObject({ reason: null, outcome: 'done' });
  });
});
