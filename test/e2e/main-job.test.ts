import { afterAll, describe, expect, it, onTestFailed } from 'vitest';
import { prompt } from '../support/model/story.ts';
import { Application } from './support/application.ts';
import { closeBrowser } from './support/browser.ts';

afterAll(closeBrowser);

describe('the main job in a window', { timeout: 240_000 }, () => {
  it('goes from a prompt to a landed branch', async () => {
    await using app = await Application.open();
    const { world } = app;
    world.model
      .when(prompt('Correct the answer'))
      .callsTool('Write', ({ cwd }) => ({
        file_path: `${cwd}/src/app.js`,
        content: 'export const answer = 42;\n',
      }))
      .thenSays('It is 42 now.');
    const window = await app.window();
    onTestFailed(() => app.picture(window, 'failed-main-job'));
    await window.fleet.open();
    await window.page.getByText('No session yet').waitFor();
    await app.picture(window, 'empty');

    await window.command('Fairlead: New Session');
    await window.answer('Correct the answer');
    await window.pick('Permission mode');
    await window.pick('manual');
    await app.picture(window, 'new-session');
    await window.pick('Start');
    await window.fleet.row('Correct the answer').waitFor();

    // The permission is asked in the terminal, and told by the tree and a notification.
    await window.terminal.shows(/Do you want to (make this edit|create|overwrite|proceed)/);
    await window.fleet.row(/Write/).waitFor();
    await app.picture(window, 'needs-you');
    await window.command('Fairlead: Answer');
    await window.question.getByText('Allow').waitFor();
    await app.picture(window, 'answer');
    await window.pick('Allow');
    await window.terminal.shows('It is 42 now.');
    const [session] = await world.json<{ id: string; worktree: string }[]>('ls');
    if (session === undefined) throw new Error('no session');
    await world.finished(session.id);
    await app.picture(window, 'finished');

    await window.command('Fairlead: Open Changes');
    await window.page.locator('.multiDiffEntry').first().waitFor();
    await window.page.locator('.multiDiffEntry', { hasText: 'app.js' }).waitFor();
    await window.notification('Reading the changes').waitFor({ state: 'hidden' });
    await app.picture(window, 'changes');

    await window.command('Fairlead: Land');
    await window.dialog.waitFor();
    await app.picture(window, 'land-uncommitted');
    await window.press(window.dialog, 'Commit and Land');
    await window.notification(/Landed on main/).waitFor();
    await window.notification('Landing').waitFor({ state: 'hidden' });
    await app.picture(window, 'landed');
    expect(world.repository.read('src/app.js')).toBe('export const answer = 42;\n');
    await window.fleet.row(/Correct the answer/).waitFor();
  });
});
