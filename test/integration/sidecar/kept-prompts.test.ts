import { expect, it } from 'vitest';
import { prompt } from '../../support/model/story.ts';
import { World } from '../../support/world.ts';

const TIMEOUT = { timeout: 120_000 };

it('what a prompt waits for is said as it is', TIMEOUT, async () => {
  await using world = await World.open();
  world.model
    .when(prompt('Begin'))
    .callsTool('Bash', { command: 'mkdir it', description: 'Make it' })
    .thenSays('Made.');
  world.model.when(prompt(/.*/)).says('Understood.');
  const { id } = await world.start('Begin', '--mode', 'manual');
  await world.asks(id);
  const asked = await world.fairlead.run(['send', id, 'after the answer']);
  expect(asked.stdout).toBe(`${id} needs you first, and gets the prompt then: Bash: mkdir it\n`);
  expect(asked.stderr).toContain(`fairlead answer ${id}`);
  await world.json('answer', id, 'allow');
  await world.fairlead.until(id, ({ turns, state }) => turns === 2 && state === 'finished');
});

it(
  'a session that waits for the word on trust has nothing to land, and says that it waits',
  TIMEOUT,
  async () => {
    await using world = await World.open({ trusted: false });
    const { id } = await world.start('Begin');
    await world.needsYou(id);
    const error = await world.error('land', id, '--to', 'local', '--yes');
    expect(error).toMatchObject({
      code: 'land.nothing-to-land',
      message: `${id} has no work yet: it waits for your word on trust before it starts.`,
      hint: expect.stringContaining(`fairlead show ${id}`),
    });
  },
);
