import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import type { SidecarStatus } from '../../../sidecar/protocol/protocol.ts';
import { CommandTerminal, terminalOf } from '../../support/command-terminal.ts';
import { prompt } from '../../support/model/story.ts';
import { World } from '../../support/world.ts';

it('takes an answer that the terminal is too low to show, and leaves that its size', {
  timeout: 120_000,
}, async () => {
  await using world = await World.open();
  const lines = Array.from({ length: 12 }, (_, at) => `touch pier-${at}`).join('\n');
  world.model
    .when(prompt('Write many lines'))
    .callsTool('Bash', { command: lines, description: 'Write many lines' })
    .thenSays('Then not.');
  const { id } = await world.start('Write many lines', '--mode', 'manual');
  await world.asks(id);
  using terminal = CommandTerminal.run(world.fairlead, ['attach', id], {
    cwd: world.repository.folder,
    cols: 96,
    rows: 11,
  });
  // The last choice has no room.
  await terminal.shows(/↓ 3\./);
  expect(terminal.text).not.toContain('4. No');
  await world.json('answer', id, 'deny: Put it before the licence');
  await world.finished(id);
  const told = world.model.requests.flatMap(({ conversation }) => conversation?.toolResults ?? []);
  expect(told.at(-1)?.text).toContain('Put it before the licence');
  const { terminals } = await world.json<SidecarStatus>('status');
  const pid = terminals.find(({ session }) => session === id)?.pid ?? 0;
  const size = () => execFileSync('stty', ['-F', terminalOf(pid), 'size'], { encoding: 'utf8' }).trim();
  await expect.poll(size).toBe('11 96');
});
