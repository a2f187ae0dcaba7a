import { describe, expect, it } from 'vitest';
import type { QueueEntry } from '../../../sidecar/protocol/entry.ts';
import type { Turn } from '../../../sidecar/protocol/session.ts';
import { prompt } from '../../support/model/story.ts';
import { PERSON } from '../../support/repository.ts';
import { World } from '../../support/world.ts';

const TIMEOUT = 120_000;

describe('from a prompt to a landed branch', () => {
  it('lands uncommitted work on main with the person as author', { timeout: TIMEOUT }, async () => {
    await using world = await World.open();
    world.model
      .when(prompt('Correct the answer'))
      .callsTool('Write', ({ cwd }) => ({
        file_path: `${cwd}/src/app.js`,
        content: 'export const answer = 42;\n',
      }))
      .usage({ input: 100, output: 20 })
      .thenSays('It is 42 now.')
      .usage({ input: 50, output: 10 });

    const session = await world.start('Correct the answer', '--mode', 'acceptEdits');
    expect(session.branch).toBe('fairlead/correct-the-answer');
    const finished = await world.finished(session.id);
    expect(finished.turns).toBe(1);
    expect(world.repository.status()).toBe('');
    expect(world.repository.at(session.worktree).status()).toContain('src/app.js');

    const entry = await world.json<QueueEntry>('land', session.id, '--to', 'local', '--yes');
    expect(entry).toMatchObject({ state: 'landed', base: 'main', target: 'local', tries: 0 });
    expect(world.repository.tip('main')).toBe(entry.landed);
    expect(world.repository.read('src/app.js')).toBe('export const answer = 42;\n');
    expect(world.repository.git('log', '-1', '--format=%an <%ae>', `${entry.head}`)).toBe(
      `${PERSON.name} <${PERSON.email}>`,
    );
    expect(world.repository.git('log', '-1', '--format=%s', 'main')).toBe(
      "Merge 'Correct the answer' (fairlead/correct-the-answer)",
    );

    // What the person commits next in the folder that moved keeps what landed.
    world.repository.commit({ 'notes.md': 'mine\n' }, 'Notes');
    expect(world.repository.show('main', 'src/app.js')).toBe('export const answer = 42;\n');

    const landed = await world.fairlead.until(session.id, ({ facts }) => facts.life === 'sleeping');
    expect(landed.state).toBe('landed');
    const [turn] = await world.json<Turn[]>('log', session.id);
    expect(turn).toMatchObject({
      n: 1,
      prompt: 'Correct the answer',
      answer: 'It is 42 now.',
      outcome: 'done',
    });
    expect(turn?.costUsd).toBeCloseTo(landed.cost.ownUsd, 9);
    expect(landed.cost.ownUsd).toBeGreaterThan(0);

    const archived = await world.json('archive', session.id);
    expect(archived).toMatchObject({ state: 'archived' });
    expect(world.repository.git('worktree', 'list')).not.toContain(session.worktree);
    expect(world.repository.git('branch', '--list', 'fairlead/*')).toContain('fairlead/correct-the-answer');
  });

  it('shows a permission with tool and input, and goes on when it is answered', {
    timeout: TIMEOUT,
  }, async () => {
    await using world = await World.open();
    world.model
      .when(prompt('Make a folder'))
      .callsTool('Bash', { command: 'mkdir made-here', description: 'Make it' })
      .thenSays('Made.');

    const session = await world.start('Make a folder', '--mode', 'manual');
    const asking = await world.asks(session.id);
    expect(asking.reason).toMatchObject({
      kind: 'permission',
      tool: 'Bash',
      input: { command: 'mkdir made-here' },
    });
    await world.json('answer', session.id, 'allow');
    const finished = await world.finished(session.id);
    expect(finished.reason).toBeNull();
    expect(world.repository.at(session.worktree).git('status', '--short')).toBe('');
  });

  it('brings later prompts to the agent, each once, also to one that sleeps', {
    timeout: TIMEOUT,
  }, async () => {
    await using world = await World.open();
    world.model.when(prompt('first')).says('One.');
    world.model.when(prompt('second')).says('Two.');
    world.model.when(prompt('third')).says('Three.');

    const session = await world.start('first');
    await world.finished(session.id);
    expect(await world.json('send', session.id, 'second\nwith a line more')).toMatchObject({
      confirmed: true,
    });
    await world.json('wait', session.id);
    await world.json('stop', session.id);
    expect(await world.fairlead.show(session.id)).toMatchObject({ facts: { life: 'sleeping' } });
    expect(await world.json('send', session.id, 'third')).toMatchObject({ confirmed: true });
    await world.json('wait', session.id);
    const turns = await world.json<Turn[]>('log', session.id);
    expect(turns.map(({ prompt, answer, outcome }) => [prompt, answer, outcome])).toEqual([
      ['first', 'One.', 'done'],
      ['second\nwith a line more', 'Two.', 'done'],
      ['third', 'Three.', 'done'],
    ]);
    for (const text of ['first', 'second', 'third']) expect(world.model.asked(text)).toHaveLength(1);
  });
});
