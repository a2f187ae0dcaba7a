import { describe, expect, onTestFailed } from 'vitest';
import { HARBOUR } from '../support/harbour-library.ts';
import { Harbour } from './support/harbour.ts';
import { windowTest } from './support/window-test.ts';

const it = windowTest({ files: HARBOUR, settings: { 'scm.alwaysShowRepositories': true } });

describe('the fleet', () => {
  it('shows every session by what it needs, in words, numbers and icons', async ({ app, onTestFinished }) => {
    const { world } = app;
    const harbour = new Harbour(world);
    onTestFinished(() => harbour.release());
    await harbour.elsewhere();
    await harbour.landed();
    await harbour.sleeps();
    const [first, second] = await harbour.attempts();
    const done = await harbour.finishes();
    const asks = await harbour.asksPermission();
    const question = await harbour.asksQuestion();
    const works = await harbour.works();

    const window = await app.window(harbour.repository.folder);
    onTestFailed(() => app.picture(window, 'failed fleet'));
    await window.fleet.open();
    await window.fleet.row('lighthouse').waitFor();
    const labels = () => window.fleet.labels();
    await expect.poll(async () => (await labels()).length).toBe(9);
    const starts = (await labels()).map((label) => label.split(',').slice(0, 2).join(','));
    expect(starts).toEqual([
      'Add longest() to Harbour, needs you: permission',
      'Choose a licence, needs you: question',
      'Write a usage section, finished',
      'Make the count faster, finished',
      'Make the count faster, finished',
      'Look into the slow start, finished',
      'Write the tests of Harbour, working',
      'Start a changelog, landed',
      expect.stringMatching(/^lighthouse/),
    ]);
    expect(second?.family).toBe(first?.id);
    expect(done.state).toBe('finished');
    expect(works.state).toBe('working');
    const spoken = (await labels()).join('\n');
    expect(spoken).toContain('Edit: src/harbour.js');
    expect(spoken).toContain('Which licence shall it be?');
    for (const { branch } of [asks, question, works]) expect(spoken).toContain(branch);
    await expect.poll(() => window.fleet.badge()).toBe('2');
    expect(await window.status.textContent()).toContain('2');
    expect(await window.status.getAttribute('aria-label')).toMatch(/9 sessions, 1 working, 2 need you/);

    // One family hangs together, and what is elsewhere is folded.
    const level = (text: string, nth: number) => window.fleet.row(text).nth(nth).getAttribute('aria-level');
    expect([await level('Make the count faster', 0), await level('Make the count faster', 1)]).toEqual([
      '1',
      '2',
    ]);
    expect(await window.fleet.row('Repaint the lamp room').count()).toBe(0);
    await window.fleet.row('lighthouse').click();
    await window.fleet.row('Repaint the lamp room').waitFor();
    expect(await level('Repaint the lamp room', 0)).toBe('2');

    // Answered, it moves down without anybody's doing.
    await world.fairlead.json(['answer', asks.id, 'allow']);
    await world.finished(asks.id);
    await expect.poll(async () => (await labels())[0]).toMatch(/^Choose a licence, needs you/);
    await expect.poll(() => window.fleet.badge()).toBe('1');
    await expect.poll(async () => (await labels())[1]).toMatch(/^Add longest\(\) to Harbour, finished/);

    // Worktrees are nobody's repositories but git's.
    const repositories = window.page.locator('.scm-view .scm-provider');
    await window.openSourceControl();
    await expect.poll(() => repositories.allInnerTexts()).toEqual([expect.stringContaining('harbour')]);
    await window.fleet.open();
    await window.fleet.act(window.fleet.row('Write a usage section'), 'Open Changes');
    await window.page.locator('.multiDiffEntry', { hasText: 'README.md' }).waitFor();
    await window.openSourceControl();
    await expect.poll(() => repositories.allInnerTexts()).toEqual([expect.stringContaining('harbour')]);

    // The changes are there again with the window, both sides of them.
    await window.reloadWindow();
    const diff = window.page.locator('.multiDiffEntry', { hasText: 'README.md' });
    await diff.getByText('counts boats of any length').waitFor();
    await diff.getByText('counts boats.').waitFor();
  });
});
