import { describe, expect, it } from 'vitest';
import type { SidecarStatus } from '../../sidecar/protocol/protocol.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { allowCommands, RESOLVED, resolves, rivals } from '../support/harbour-conflict.ts';
import { prompt } from '../support/model/story.ts';
import { asked, dieAt, turnsOf, waitFor } from '../support/session-faults.ts';
import { gone } from '../support/sidecar.ts';
import { World } from '../support/world.ts';

describe('kill -9 of the sidecar', () => {
  it('anywhere on the way of a prompt brings it once', { timeout: 300_000 }, async () => {
    await using world = await World.open();
    world.model.when(prompt(/./)).says('Understood.');
    const { id } = await world.start('Begin');
    await waitFor(world, 'finished', id);
    const expected = [['Begin', 'done']];
    for (const step of [
      'prompt-stored',
      'prompt-sent',
      'prompt-pasted',
      'prompt-typed',
      'events-kept',
    ] as const) {
      const text = `Sent to die at ${step}:\nonce`;
      const pid = await dieAt(world, step);
      // The command asks the next sidecar, which has the prompt already, or goes on with it.
      const { code, stdout, stderr } = await world.fairlead.run(['send', id, text]);
      expect([code, stdout], `${step}: ${stderr}`).toEqual([0, `${id} got the prompt.\n`]);
      await gone(pid);
      expected.push([text, 'done']);
      await waitFor(world, 'finished', id);
      expect(await turnsOf(world, id), step).toEqual(expected);
    }
    expect(asked(world)).toHaveLength(expected.length);
  });

  it('anywhere in the making of a session leaves it whole, and once', { timeout: 300_000 }, async () => {
    await using world = await World.open();
    world.model.when(prompt(/./)).says('Understood.');
    const steps = [
      'session-planned',
      'worktree-made',
      'launch-stored',
      'launch-written',
      'terminal-made',
      'events-kept',
    ] as const;
    for (const step of steps) {
      const pid = await dieAt(world, step);
      const made = await world.start(`Made to die at ${step}`);
      await gone(pid);
      const left = await world.json<Session[]>('ls');
      const ours = left.filter(({ title }) => title.endsWith(step));
      expect(ours, step).toHaveLength(1);
      const [session] = ours;
      if (session === undefined) break;
      expect(made.id, step).toBe(session.id);
      const finished = await waitFor(world, 'finished', session.id);
      expect(finished, step).toMatchObject({ turns: 1, outcome: 'done', state: 'finished' });
      const worktree = world.repository.at(session.worktree);
      expect(worktree.status(), step).toBe('');
      expect(worktree.git('symbolic-ref', '--short', 'HEAD')).toBe(session.branch);
    }
    expect(asked(world)).toHaveLength(steps.length);
    expect(world.repository.git('worktree', 'list').split('\n')).toHaveLength(steps.length + 1);
  });

  it('anywhere in a hand-back asks the agent once, and lands once', { timeout: 600_000 }, async () => {
    const steps = [
      'settled',
      'hand-back-begun',
      'hand-back-merged',
      'hand-back-asked',
      'prompt-stored',
      'prompt-sent',
      'prompt-typed',
      'hand-back-verified',
      'hand-back-settled',
    ] as const;
    const files = Object.fromEntries(steps.map((step) => [`${step}.js`, 'export const answer = 41;\n']));
    await using world = await World.open({ files });
    allowCommands(world);
    resolves(world);
    for (const step of steps) {
      const [first, second] = await rivals(world, `${step}.js`);
      await world.json('land', first.id, '--to', 'local', '--yes');
      const pid = await dieAt(world, step);
      await world.fairlead.run(['land', second.id, '--to', 'local', '--yes', '--no-wait'], {
        cwd: world.repository.folder,
      });
      await gone(pid);
      await world.json('wait', second.id, '--for', 'landed', '--timeout', '60');
      expect(world.repository.read(`${step}.js`), step).toBe(RESOLVED);
      const [, asked, ...others] = await turnsOf(world, second.id);
      expect([asked?.[1], others], step).toEqual(['done', []]);
      const landings = world.repository.log('main').filter((line) => line.includes(`boats in ${step}.js`));
      expect(landings, step).toHaveLength(1);
      expect(world.repository.at(second.worktree).status(), step).toBe('');
      await world.json('archive', first.id);
      await world.json('archive', second.id);
    }
    expect(world.repository.leftovers()).toEqual([]);
  });

  it('anywhere in the ending of an agent leaves none running, and no second one', {
    timeout: 300_000,
  }, async () => {
    await using world = await World.open();
    world.model.when(prompt(/./)).says('Understood.');
    const { id } = await world.start('Begin');
    await waitFor(world, 'finished', id);
    for (const [n, step] of (['ending-stored', 'agent-ended'] as const).entries()) {
      const pid = await dieAt(world, step);
      expect((await world.fairlead.run(['stop', id])).code, step).not.toBe(0);
      await gone(pid);
      const asleep = await world.fairlead.until(id, ({ facts }) => facts.life === 'sleeping');
      expect(asleep, step).toMatchObject({ state: 'finished', reason: null });
      await expect
        .poll(async () => (await world.json<SidecarStatus>('status')).terminals, { timeout: 20_000 })
        .toEqual([]);
      await world.json('send', id, `Go on after ${step}`);
      expect(await waitFor(world, 'finished', id), step).toMatchObject({ turns: n + 2 });
      const { terminals } = await world.json<SidecarStatus>('status');
      expect(terminals.map(({ session }) => session)).toEqual([id]);
    }
  });
});
