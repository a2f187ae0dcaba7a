import { describe, expect } from 'vitest';
import { prompt } from '../support/model/story.ts';
import { atDesk } from './support/at-desk.ts';

const it = atDesk();

describe('the changes of a session', () => {
  it('follow what the agent writes while they are open, in one tab', async ({ desk, window }) => {
    const { world } = desk;
    const write =
      (content: string) =>
      ({ cwd }: { cwd?: string | undefined }) => ({
        file_path: `${cwd}/notes.txt`,
        content,
      });
    world.model.when(prompt('Take notes')).callsTool('Write', write('Noted once.\n')).thenSays('Noted.');
    world.model.when(prompt('Take more')).callsTool('Write', write('Noted twice.\n')).thenSays('Noted.');
    const { id } = await world.start('Take notes', '--mode', 'acceptEdits');
    await world.finished(id);
    await window.openFleet();
    const row = window.row('Take notes');
    await window.act(row, 'Open Changes');
    const entry = window.page.locator('.multiDiffEntry', { hasText: 'notes.txt' });
    await entry.getByText('Noted once.').first().waitFor();

    await window.choose(row, 'Send Prompt');
    await window.answer('Take more');
    await entry.getByText('Noted twice.').first().waitFor();

    await window.act(row, 'Open Changes');
    await entry.getByText('Noted twice.').first().waitFor();
    await expect.poll(() => window.tab(/Take notes/).count()).toBe(1);
  });
});
