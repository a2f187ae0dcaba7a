import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFailed } from 'vitest';
import { atDesk } from './support/at-desk.ts';
import { HARBOUR, Harbour } from './support/harbour.ts';
import { PICTURES } from './support/window.ts';
import type { Workbench } from './support/workbench.ts';

const it = atDesk({ files: HARBOUR, settings: { 'workbench.reduceMotion': 'on' } });

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
  it('show every state in every theme, and nothing that cannot be read', async ({ desk, onTestFinished }) => {
    const harbour = new Harbour(desk.world);
    onTestFinished(() => harbour.release());
    await harbour.elsewhere();
    await harbour.landed();
    await harbour.sleeps();
    await harbour.attempts();
    const lands = await harbour.finishes('Draw the boats', 'docs/boats.md', '# Boats\n');
    const queued = await harbour.finishes('Name the boats', 'docs/names.md', '# Names\n');
    await harbour.finishes();
    await harbour.asksPermission();
    await harbour.asksQuestion();
    await harbour.works();
    await harbour.land(lands.id, 'sleep 1000');
    await harbour.land(queued.id, 'sleep 1000');

    const window = await desk.window(harbour.repository.folder);
    onTestFailed(() => desk.picture(window, 'failed pictures'));
    await window.openFleet();
    await window.row('Add longest() to Harbour').click();
    await window.terminalShows(/Do you want to/);
    await window.page.mouse.move(700, 20);
    for (const [name, [theme, drawn]] of Object.entries(THEMES)) {
      await window.colourTheme(theme, drawn);
      await desk.picture(window, `fleet ${name}`);
      const faint = (await window.contrasts()).filter(({ contrast }) => contrast < READABLE);
      expect.soft(faint, `texts in ${theme} that are hard to read`).toEqual([]);
    }
    await window.colourTheme(...THEMES.dark);
    await window.row('Write the tests of Harbour').hover();
    await window.page.locator('.workbench-hover:visible').waitFor();
    await desk.picture(window, 'tooltip');
    await window.status.hover();
    await window.page.locator('.workbench-hover', { hasText: 'New session' }).waitFor();
    await desk.picture(window, 'status bar');
    await window.page.mouse.move(700, 20);
    await window.widenSidebar(200);
    await desk.picture(window, 'fleet narrow');
    await story(window, harbour);
  });
});

/** The pictures of the walkthrough and of the page that introduces the extension. */
async function story(window: Workbench, harbour: Harbour): Promise<void> {
  await window.widenSidebar(340);
  await window.page.setViewportSize({ width: 1280, height: 800 });
  await window.act(window.row('Write a usage section'), 'Open Changes');
  await window.page.locator('.multiDiffEntry', { hasText: 'README.md' }).waitFor();
  await window.row('Add longest() to Harbour').click();
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

  await window.act(window.row('Write a usage section'), 'Open Changes');
  await window.page.locator('.multiDiffEntry', { hasText: 'README.md' }).waitFor();
  await window.act(window.row('Write a usage section'), 'Land');
  await window.dialog.waitFor();
  await clip(window, 'land');
  await window.page.keyboard.press('Escape');
  expect(harbour.repository.show('main', 'README.md')).toBe(HARBOUR['README.md']);
}

async function clip(window: Workbench, name: string): Promise<void> {
  mkdirSync(join(PICTURES, 'published'), { recursive: true });
  // Where nothing answers to it with a hover.
  const { width, height } = window.page.viewportSize() ?? { width: 800, height: 500 };
  await window.page.mouse.move(width - 40, height * 0.55);
  await window.page.locator('.workbench-hover:visible').waitFor({ state: 'hidden' });
  await window.page.locator('.terminal-resize-overlay.visible').waitFor({ state: 'hidden' });
  await window.page.screenshot({ path: join(PICTURES, 'published', `${name}.png`), animations: 'disabled' });
}
