import { describe, expect } from 'vitest';
import { prompt } from '../support/model/story.ts';
import { windowTest } from './support/window-test.ts';

const it = windowTest();

describe('the changes of a session', () => {
  it('follow what the agent writes while they are open, in one tab', async ({ app, window }) => {
    const { world } = app;
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
    await window.fleet.open();
    const row = window.fleet.row('Take notes');
    await window.fleet.act(row, 'Open Changes');
    const entry = window.page.locator('.multiDiffEntry', { hasText: 'notes.txt' });
    await entry.getByText('Noted once.').first().waitFor();

    await window.fleet.choose(row, 'Send Prompt');
    await window.answer('Take more');
    await entry.getByText('Noted twice.').first().waitFor();

    await window.fleet.act(row, 'Open Changes');
    await entry.getByText('Noted twice.').first().waitFor();
    await expect.poll(() => window.tab(/Take notes/).count()).toBe(1);
  });
});
