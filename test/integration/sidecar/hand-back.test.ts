import { describe, expect, it } from 'vitest';
import type { QueueEntry } from '../../../sidecar/protocol/entry.ts';
import type { FleetEvent } from '../../../sidecar/protocol/protocol.ts';
import type { Turn } from '../../../sidecar/protocol/session.ts';
import { ASKED, allowCommands, RESOLVED, resolves, rivals, writes } from '../../support/harbour-conflict.ts';
import type { Conversation } from '../../support/model/conversation.ts';
import { World } from '../../support/world.ts';

const isAsked = (conversation: Conversation | undefined) => ASKED.test(conversation?.prompts.at(-1) ?? '');

describe('a conflict of two sessions', { timeout: 180_000 }, () => {
  it('goes back to the second, whose agent resolves it, while a third lands', async () => {
    await using world = await World.open();
    allowCommands(world);
    const gate = Promise.withResolvers<void>();
    resolves(world, { waitsFor: () => gate.promise });
    const [first, second] = await rivals(world);
    const third = await writes(world, 'Write a note', 'notes.md', 'A note.\n');
    const land = (id: string, ...more: string[]) =>
      world.json<QueueEntry>('land', id, '--to', 'local', '--yes', ...more);
    await land(first.id);

    const landing = world.fairlead.run(['land', second.id, '--to', 'local', '--yes'], {
      cwd: world.repository.folder,
      timeoutMs: 150_000,
    });
    const resolving = await world.fairlead.until(second.id, ({ facts }) => facts.agent === 'working', 60_000);
    const message = 'It conflicts with main in src/app.js; its agent resolves that (try 1 of 2).';
    expect(resolving).toMatchObject({
      state: 'resolving',
      need: null,
      reason: { kind: 'conflict', message },
    });
    const [entry] = await world.json<QueueEntry[]>('queue');
    expect(entry).toMatchObject({ state: 'handed-back', tries: 1, handBack: { phase: 'asked', try: 1 } });
    const table = await world.fairlead.run(['queue'], { cwd: world.repository.folder });
    expect(table.stdout).toContain('handed back: conflict');
    expect(table.stdout).toContain(message);
    const shown = await world.fairlead.run(['show', second.id]);
    expect(shown.stdout).toContain(`is handed back: ${message}`);
    expect(shown.stdout).toContain('It lands by itself once its agent has resolved the conflict.');
    expect(shown.stdout).not.toContain('needs you');

    expect((await land(third.id)).state).toBe('landed');
    const waiting = world.fairlead.json(['wait', second.id, '--for', 'landed', '--timeout', '150'], {
      timeoutMs: 160_000,
    });
    gate.resolve();
    const landed = await landing;
    expect([landed.code, landed.stderr]).toEqual([0, expect.stringContaining(message)]);
    const [last] = await world.json<QueueEntry[]>('queue', '--all');
    expect(last).toMatchObject({
      id: entry?.id,
      state: 'landed',
      tries: 1,
      queuedAt: entry?.queuedAt,
      handBack: null,
    });
    await waiting;
    expect(world.repository.read('src/app.js')).toBe(RESOLVED);
    expect(world.repository.read('notes.md')).toBe('A note.\n');
    expect(world.repository.log('main').slice(0, 3)).toEqual([
      "Merge 'Count the boats' (fairlead/count-the-boats)",
      "Merge 'Write a note' (fairlead/write-a-note)",
      "Merge 'Say forty-two' (fairlead/say-forty-two)",
    ]);
    const turns = await world.json<Turn[]>('log', second.id);
    expect(turns.map(({ outcome }) => outcome)).toEqual(['done', 'done']);
    expect(turns[1]?.prompt).toContain('> ');
    expect(turns[1]?.prompt).toContain("Merge 'Say forty-two' (fairlead/say-forty-two)");
    expect(
      world.model.requests.filter(({ kind, conversation }) => kind === 'story' && isAsked(conversation)),
    ).toHaveLength(5);
    const { stdout: events } = await world.fairlead.run(['events', '--json']);
    const told = events
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as FleetEvent)
      .filter(({ session }) => session === second.id);
    const steps = told.flatMap(({ entry: state }) => (state === null ? [] : [state]));
    expect(steps).toEqual(expect.arrayContaining(['handed-back', 'queued', 'landed']));
    expect(world.repository.at(second.worktree).status()).toBe('');
  });

  it('wakes an agent that sleeps, and lets it ask', async () => {
    await using world = await World.open();
    resolves(world);
    const [first, second] = await rivals(world);
    await world.json('land', first.id, '--to', 'local', '--yes');
    await world.json('stop', second.id);
    const land = ['land', second.id, '--to', 'local', '--yes'];
    const asked = await world.fairlead.run(land, { cwd: world.repository.folder, timeoutMs: 90_000 });
    // It asks whether it may run a command: that is the person's, and the landing goes on behind it.
    expect([asked.code, asked.stdout]).toEqual([
      1,
      expect.stringContaining('is handed back: It conflicts with main'),
    ]);
    expect(asked.stderr).toContain(`fairlead answer ${second.id} allow`);
    for (const command of ['git add', 'git commit']) {
      const asking = await world.fairlead.until(
        second.id,
        ({ reason }) => JSON.stringify(reason?.input ?? '').includes(command),
        60_000,
      );
      expect(asking.state).toBe('needs-you');
      await world.json('answer', second.id, 'allow');
    }
    await world.json('wait', second.id, '--for', 'landed', '--timeout', '60');
    expect(world.repository.read('src/app.js')).toBe(RESOLVED);
  });

  it('is no try when the person interrupts the agent, who goes on when told', async () => {
    await using world = await World.open();
    allowCommands(world);
    const gate = Promise.withResolvers<void>();
    resolves(world, { waitsFor: () => gate.promise }).once();
    const [first, second] = await rivals(world);
    await world.json('land', first.id, '--to', 'local', '--yes');
    await world.json('land', second.id, '--to', 'local', '--yes', '--no-wait');
    await world.fairlead.until(second.id, ({ facts }) => facts.agent === 'working', 60_000);
    // Once it has said something: what is interrupted before stands in the composer again.
    await world.model.waitFor(
      ({ conversation }) => (conversation?.toolResults.length ?? 0) > 0 && isAsked(conversation),
    );
    await world.json('interrupt', second.id);
    const stopped = await world.fairlead.until(second.id, ({ state }) => state === 'needs-you');
    expect(stopped.reason?.message).toContain('its agent was interrupted');
    gate.resolve();
    resolves(world);
    // It waits for the agent that was asked anew, not for the person who has just answered.
    const landed = await world.fairlead.json<QueueEntry>(['land', second.id], { timeoutMs: 100_000 });
    expect(landed.state).toBe('landed');
    expect(world.repository.read('src/app.js')).toBe(RESOLVED);
    const [entry] = (await world.json<QueueEntry[]>('queue', '--all')).filter(
      ({ session }) => session === second.id,
    );
    expect(entry).toMatchObject({ state: 'landed', tries: 1 });
  });
});
