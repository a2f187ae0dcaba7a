import { describe, expect } from 'vitest';
import { prompt } from '../support/model/story.ts';
import { atDesk } from './support/at-desk.ts';
import type { Desk } from './support/window.ts';

const it = atDesk();

describe('notifications', () => {
  it('tell a need once, and take the answer', async ({ desk, window }) => {
    const { world } = desk;
    const id = await asksTo(desk, 'Make one.txt');
    const toast = window.notification('Make one.txt');
    await toast.waitFor();
    expect(await toast.locator('a.monaco-button').allInnerTexts()).toEqual([
      'Allow',
      'Deny',
      'Open Terminal',
    ]);
    expect(await toast.textContent()).toContain('Write: one.txt');
    await window.press(toast, 'Allow');
    await world.finished(id);
    await expect.poll(() => toast.count()).toBe(0);
    expect(world.repository.at((await world.fairlead.show(id)).worktree).read('one.txt')).toBe('1\n');
    // Another need of the same session is another notification.
    await world.json('send', id, 'Make another.txt');
    await world.asks(id);
    await toast.waitFor();
    await window.press(toast, 'Deny');
    await expect.poll(async () => (await world.fairlead.show(id)).state).toBe('finished');
  });

  it('have a question answered by a list of its options', async ({ desk, window }) => {
    const { world } = desk;
    world.model
      .when(prompt('Paint the shed'))
      .callsTool('AskUserQuestion', {
        questions: [
          {
            question: 'Which colour?',
            header: 'Colour',
            options: [
              { label: 'Blue', description: 'As the sea' },
              { label: 'Green', description: 'As the meadow' },
            ],
            multiSelect: false,
          },
        ],
      })
      .thenSays('Painted.');
    const { id } = await world.start('Paint the shed');
    const toast = window.notification('Paint the shed');
    await toast.waitFor();
    expect(await toast.locator('a.monaco-button').allInnerTexts()).toEqual(['Answer…', 'Open Terminal']);
    await window.press(toast, 'Answer…');
    await window.pick('Green');
    await world.finished(id);
    expect(JSON.stringify(world.model.asked('Paint the shed').at(-1)?.body)).toContain('Green');
  });

  it('are quiet for the session that is on screen, and for what was asked before the window came', async ({
    desk,
    window,
  }) => {
    const { world } = desk;
    const seen = await asksTo(desk, 'Make seen.txt', 'Wait for me');
    await window.openFleet();
    await window.row('Make seen.txt').click();
    await window.terminalShows('Ready.');
    await world.json('send', seen, 'Wait for me');
    await world.asks(seen);
    await window.terminalShows(/Do you want to/);
    // By the time that a later need is told, the earlier one would have been.
    const other = await asksTo(desk, 'Make other.txt');
    await window.notification('Make other.txt').waitFor();
    expect(await window.notification('Make seen.txt').count()).toBe(0);

    await window.reloadPage();
    await expect.poll(() => window.badge()).toBe('2');
    const third = await asksTo(desk, 'Make third.txt');
    await window.notification('Make third.txt').waitFor();
    expect(await window.page.locator('.notifications-toasts .notification-list-item').count()).toBe(1);
    for (const id of [seen, other, third]) await world.json('answer', id, 'allow');
  });
});

/** A session that asks to write the file that its task names; with `first` it only says that it is ready. */
async function asksTo({ world }: Desk, task: string, later?: string): Promise<string> {
  const asking = (text: string) =>
    world.model
      .when(prompt(text))
      .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/${task.split(' ')[1]}`, content: '1\n' }))
      .thenSays('Made.');
  if (later === undefined) {
    asking(task);
  } else {
    world.model.when(prompt(task)).says('Ready.');
    asking(later);
  }
  if (task === 'Make one.txt') asking('Make another.txt');
  const { id } = await world.start(task, '--mode', 'manual');
  if (later === undefined) await world.asks(id);
  else await world.finished(id);
  return id;
}
