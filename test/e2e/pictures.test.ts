import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFailed } from 'vitest';
import { HARBOUR } from '../support/harbour-library.ts';
import { type Application, PICTURES } from './support/application.ts';
import { Harbour } from './support/harbour.ts';
import { windowTest } from './support/window-test.ts';
import type { Workbench } from './support/workbench.ts';

/** Nothing is drawn half. */
const STILL = { settings: { 'workbench.reduceMotion': 'on' } };

const it = windowTest({ files: HARBOUR, ...STILL });

/** Each theme with the class by which the workbench says that it is drawn in it. */
const THEMES = {
  dark: ['Dark 2026', 'vs-dark'],
  light: ['Light 2026', 'vs'],
  'high contrast dark': ['Dark High Contrast', 'hc-black'],
  'high contrast light': ['Light High Contrast', 'hc-light'],
} as const;

/** Text has to stand out from what is behind it by so much. Source: WCAG 2.2, success criterion 1.4.3. */
const READABLE = 4.5;

describe('pictures', () => {
  it('show every state in every theme, and nothing that cannot be read', async ({ app, onTestFinished }) => {
    const harbour = new Harbour(app.world);
    onTestFinished(() => harbour.release());
    // What is done and waits for nothing, side by side.
    const [rewritten, lands, queued] = await Promise.all([
      harbour.rewrites(),
      harbour.finishes('Draw the boats', 'docs/boats.md', '# Boats\n'),
      harbour.finishes('Name the boats', 'docs/names.md', '# Names\n'),
      harbour.elsewhere(),
    ]);
    await Promise.all([harbour.landed(), harbour.sleeps(), harbour.rests(), harbour.interrupted()]);
    await Promise.all([harbour.attempts(), harbour.finishes(), harbour.works(), harbour.waits()]);
    // The oldest need is the first.
    await harbour.fails();
    await harbour.plans();
    await harbour.asksPermission();
    await harbour.asksQuestion();
    await harbour.conflicts(rewritten.id);
    await harbour.land(lands.id, 'sleep 1000');
    await harbour.land(queued.id, 'sleep 1000');

    const window = await app.window(harbour.repository.folder);
    onTestFailed(() => app.picture(window, 'failed pictures'));
    await window.fleet.open();
    await window.fleet.row('Add longest() to Harbour').click();
    await window.terminal.shows(/Do you want to/);
    await window.restMouse();
    expect(await window.fleet.withoutIcon()).toEqual([]);
    for (const [name, [theme, drawn]] of Object.entries(THEMES)) {
      await window.colourTheme(theme, drawn);
      await app.picture(window, `fleet ${name}`);
      const faint = (await window.rendering.contrasts()).filter(({ contrast }) => contrast < READABLE);
      expect.soft(faint, `texts in ${theme} that are hard to read`).toEqual([]);
    }
    await window.colourTheme(...THEMES.dark);
    await window.fleet.row('Write the tests of Harbour').hover();
    await window.page.locator('.workbench-hover:visible').waitFor();
    await app.picture(window, 'tooltip');
    await window.status.hover();
    await window.page.locator('.workbench-hover', { hasText: 'New session' }).waitFor();
    await app.picture(window, 'status bar');
    await window.restMouse();
    await window.widenSidebar(200);
    await app.picture(window, 'fleet narrow');
    await story(window, harbour);
    await flows(app, window);

    const { session, goOn } = await harbour.begins();
    await expect
      .poll(() => window.fleet.row('Trim the lamps').getAttribute('aria-label'))
      .toContain('starting');
    await app.picture(window, 'fleet starting');
    goOn();
    await app.world.finished(session.id);

    const ptyhost = await app.world.fairlead.ptyhostPid();
    if (ptyhost === undefined) throw new Error('no ptyhost runs');
    process.kill(ptyhost, 'SIGKILL');
    await window.page.setViewportSize({ width: 1280, height: 800 });
    await window.fleet.row('Write the tests of Harbour').waitFor();
    await expect
      .poll(() => window.fleet.row('Write the tests of Harbour').getAttribute('aria-label'))
      .toContain('terminal lost');
    await app.picture(window, 'fleet terminals lost');
  });
});

/** What the person is asked on the way. */
async function flows(app: Application, window: Workbench): Promise<void> {
  await window.page.setViewportSize({ width: 1280, height: 800 });
  await window.widenSidebar(340);
  const leave = async () => {
    await window.page.keyboard.press('Escape');
    await window.question.waitFor({ state: 'hidden' });
  };
  for (const [title, shows] of [
    ['Add longest() to Harbour', 'Allow'],
    ['Choose a licence', 'Apache-2.0'],
    ['Plan the new pier', 'Allow'],
  ] as const) {
    await window.fleet.choose(window.fleet.row(title), 'Answer…');
    await window.question.getByText(shows).first().waitFor();
    await app.picture(window, `answer ${title}`);
    await leave();
  }
  await window.page.locator('.composite.title').getByRole('button', { name: 'New Session' }).click();
  await window.answer('Add a method shortest() beside longest()');
  await window.question.getByText('Start', { exact: true }).waitFor();
  await app.picture(window, 'new session review');
  for (const [step, shows] of [
    ['Base', 'checked out'],
    ['Model', 'opus'],
    ['Permission mode', 'acceptEdits'],
    ['Attempts', '8'],
  ] as const) {
    await window.pick(step);
    await window.question.getByText(shows).first().waitFor();
    await app.picture(window, `new session ${step}`);
    await window.page.keyboard.press('Enter');
    await window.question.getByText('Start', { exact: true }).waitFor();
  }
  await leave();
  await window.fleet.row('lighthouse').click();
  await window.fleet.act(window.fleet.row('Repaint the lamp room'), 'Land');
  await window.question.getByText('Where does main land?').waitFor();
  await app.picture(window, 'land where to');
  await leave();
  await window.fleet.row('Rewrite the changelog').hover();
  await window.page.locator('.workbench-hover:visible').waitFor();
  await app.picture(window, 'tooltip conflict');
  await window.fleet.choose(window.fleet.row('Write a usage section'), 'Show Conversation');
  await window.tab(/Write a usage section\.md/).waitFor();
  await app.picture(window, 'conversation');
}

/** The pictures of the walkthrough and of the page that introduces the extension. */
async function story(window: Workbench, harbour: Harbour): Promise<void> {
  await window.widenSidebar(340);
  await window.page.setViewportSize({ width: 1280, height: 800 });
  await window.fleet.act(window.fleet.row('Write a usage section'), 'Open Changes');
  await window.page.locator('.multiDiffEntry', { hasText: 'README.md' }).waitFor();
  await coloured(window);
  await window.fleet.row('Add longest() to Harbour').click();
  await clip(window, 'fairlead');

  await window.command('View: Close All Editors');
  await window.page.setViewportSize({ width: 800, height: 500 });
  await window.widenSidebar(280);
  await clip(window, 'needs-you');

  await window.command('View: Toggle Panel Visibility');
  await window.command('Fairlead: New Session');
  await window.question.locator('input').fill('Add a method shortest() beside longest()');
  await clip(window, 'session');
  await window.page.keyboard.press('Escape');

  await window.fleet.act(window.fleet.row('Write a usage section'), 'Open Changes');
  await window.page.locator('.multiDiffEntry', { hasText: 'README.md' }).waitFor();
  await coloured(window);
  await window.fleet.act(window.fleet.row('Write a usage section'), 'Land');
  await window.dialog.waitFor();
  await clip(window, 'land');
  await window.page.keyboard.press('Escape');
  expect(harbour.repository.show('main', 'README.md')).toBe(HARBOUR['README.md']);
}

/** Waits until the open changes are in the colours of their language. */
async function coloured(window: Workbench): Promise<void> {
  await window.page.locator('.multiDiffEntry .view-line span[class*="mtk"]:not(.mtk1)').first().waitFor();
}

async function clip(window: Workbench, name: string): Promise<void> {
  mkdirSync(join(PICTURES, 'published'), { recursive: true });
  await window.restMouse();
  await window.page.locator('.terminal-resize-overlay.visible').waitFor({ state: 'hidden' });
  await window.page.screenshot({ path: join(PICTURES, 'published', `${name}.png`), animations: 'disabled' });
}
