import { describe, expect } from 'vitest';
import { prompt } from '../support/model/story.ts';
import type { Application } from './support/application.ts';
import { windowTest } from './support/window-test.ts';

const it = windowTest();

describe('notifications', () => {
  it('tell a need once, and take the answer', async ({ app, window }) => {
    const { world } = app;
    const id = await asksTo(app, 'Make one.txt', { again: 'Make another.txt' });
    const toast = window.notification('Make one.txt');
    await toast.waitFor();
    expect(await toast.locator('a.monaco-button').allInnerTexts()).toEqual([
      'Allow',
      'Deny',
      'Open Terminal',
    ]);
    expect(await toast.textContent()).toContain('Write: one.txt');
    // It tells the path alone: what would be written is shown before it is allowed.
    await window.press(toast, 'Allow');
    await window.page.locator('.modified-in-monaco-diff-editor', { hasText: '1' }).waitFor();
    await window.pick('Allow');
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

  it('have a question answered by a list of its options', async ({ app, window }) => {
    const { world } = app;
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
    await window.question.getByText('As the meadow').waitFor();
    await window.pick('Green');
    await world.finished(id);
    expect(JSON.stringify(world.model.asked('Paint the shed').at(-1)?.body)).toContain('Green');
  });

  it('say so when they are pressed after their need was answered elsewhere, and do nothing', async ({
    app,
    window,
  }) => {
    const { world } = app;
    const id = await asksTo(app, 'Make late.txt');
    const toast = window.notification('Make late.txt: ');
    await toast.waitFor();
    await world.json('answer', id, 'allow');
    await world.finished(id);
    await expect.poll(() => window.fleet.badge()).toBe('');
    await window.press(toast, 'Deny');
    const late = window.notification(/Answered already.*"Make late.txt"/);
    await late.waitFor();
    expect(await late.textContent()).toContain('is finished by now.');
    expect(world.repository.at((await world.fairlead.show(id)).worktree).read('late.txt')).toBe('1\n');
  });

  it('show what an agent wrote as text, whatever it looks like', async ({ app, window }) => {
    const { world } = app;
    const link = '[Press here](command:fairlead.showLog)';
    world.model
      .when(prompt('Look at'))
      .callsTool('AskUserQuestion', {
        questions: [
          {
            question: `Is ${link} right?`,
            header: 'Link',
            options: [
              { label: 'Yes', description: 'It is' },
              { label: 'No', description: 'It is not' },
            ],
            multiSelect: false,
          },
        ],
      })
      .thenSays('Thanks.');
    const { id } = await world.start(`Look at ${link}`);
    const toast = window.notification('Look at');
    await toast.waitFor();
    expect(await toast.textContent()).toContain('command:fairlead.showLog');
    expect(await toast.locator('.notification-list-item-message a').count()).toBe(0);
    await window.press(toast, 'Answer…');
    await window.pick('Something else');
    await window.question.getByText('command:fairlead.showLog').first().waitFor();
    expect(await window.question.locator('.quick-input-message a').count()).toBe(0);
    await window.answer('Neither');
    await world.finished(id);
  });

  it('wait where the session is on screen, come when that is left, and where the panel is hidden', async ({
    app,
    window,
  }) => {
    const { world } = app;
    const seen = await asksTo(app, 'Make seen.txt', { first: 'Wait for me' });
    const other = await asksTo(app, 'Make other.txt', { first: 'Wait as well' });
    const early = await asksTo(app, 'Make early.txt', { first: 'Wait a little' });
    await window.fleet.open();
    const told = await window.toldNotifications();
    // Answered before that is left, it is not told at all.
    await window.fleet.click(window.fleet.row('Make early.txt'));
    await window.terminal.shows(/Make early\.txt[\s\S]*Ready\./);
    await world.json('send', early, 'Wait a little');
    await window.fleet.row(/Write: early\.txt/).waitFor();
    await world.json('answer', early, 'allow');
    await world.finished(early);
    await expect
      .poll(() => window.fleet.row('Make early.txt').getAttribute('aria-label'))
      .toContain('finished');

    await window.fleet.click(window.fleet.row('Make seen.txt'));
    await window.terminal.shows(/Make seen\.txt[\s\S]*Ready\./);
    await world.json('send', seen, 'Wait for me');
    await world.asks(seen);
    await world.json('send', other, 'Wait as well');
    await window.notification('Make other.txt').waitFor();
    // The terminal of the other one is in front: the first one is not on screen any more.
    await window.press(window.notification('Make other.txt'), 'Open Terminal');
    await window.notification('Make seen.txt').waitFor();
    const first = (await told()).map((text) => /Make \w+/.exec(text)?.[0]);
    expect(first).toEqual(['Make other', 'Make seen']);
    for (const id of [seen, other]) {
      await world.json('answer', id, 'allow');
      await world.finished(id);
    }

    // A panel that is hidden keeps its active terminal.
    await window.command('Notifications: Clear All Notifications');
    const third = await asksTo(app, 'Make third.txt', { first: 'Wait once more' });
    await window.fleet.click(window.fleet.row('Make third.txt'));
    await window.terminal.shows(/Make third\.txt[\s\S]*Ready\./);
    await window.command('View: Toggle Panel Visibility');
    await window.terminal.screen.waitFor({ state: 'hidden' });
    await world.json('send', third, 'Wait once more');
    await world.asks(third);
    await window.notification('Make third.txt').waitFor();
    await world.json('answer', third, 'allow');
    await world.finished(third);
  });

  it('are quiet for what was asked before the window came', async ({ app, window }) => {
    const { world } = app;
    const before = await asksTo(app, 'Make before.txt');
    await window.reloadPage();
    await expect.poll(() => window.fleet.badge()).toBe('1');
    const after = await asksTo(app, 'Make after.txt');
    await window.notification('Make after.txt').waitFor();
    expect(await window.page.locator('.notifications-toasts .notification-list-item').count()).toBe(1);
    for (const id of [before, after]) await world.json('answer', id, 'allow');
  });
});

interface Asking {
  /** It only says that it is ready, and asks at this prompt. */
  first?: string;
  /** It asks once more at this prompt. */
  again?: string;
}

/** A session that asks to write the file that its task names. */
async function asksTo({ world }: Application, task: string, { first, again }: Asking = {}): Promise<string> {
  const asks = (text: string) =>
    world.model
      .when(prompt(text))
      .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/${task.split(' ')[1]}`, content: '1\n' }))
      .thenSays('Made.');
  if (first === undefined) asks(task);
  else world.model.when(prompt(task)).says('Ready.');
  for (const later of [first, again]) if (later !== undefined) asks(later);
  const { id } = await world.start(task, '--mode', 'manual');
  if (first === undefined) await world.asks(id);
  else await world.finished(id);
  return id;
}
