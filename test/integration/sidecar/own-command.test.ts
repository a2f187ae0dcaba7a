import { expect, it } from 'vitest';
import { prompt } from '../../support/model/story.ts';
import { World } from '../../support/world.ts';

it('a first prompt that Claude Code takes for its own exit is told, and the next one goes on', {
  timeout: 180_000,
}, async () => {
  await using world = await World.open();
  world.model.when(prompt('Say hello')).says('Hello.');
  const made = await Promise.all(['exit', ' /quit'].map((text) => world.start(text, '--title', 'Leave')));
  for (const { id } of made) {
    const ended = await world.fairlead.until(id, ({ facts }) => facts.life === 'sleeping', 45_000);
    expect(ended).toMatchObject({ state: 'needs-you', turns: 0, reason: { kind: 'agent-ended' } });
    expect(ended.reason?.message).toMatch(
      /^Claude Code took the prompt "\/?(exit|quit)" for its own command/,
    );
    await world.json('send', id, 'Say hello');
    expect(await world.finished(id)).toMatchObject({ reason: null, turns: 1 });
    // Of an agent that has worked it is the end that was meant.
    await world.json('send', id, 'exit');
    const left = await world.fairlead.until(id, ({ facts }) => facts.life === 'sleeping', 45_000);
    expect(left).toMatchObject({ state: 'sleeping', reason: null });
  }
});
