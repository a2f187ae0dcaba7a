import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFailed } from 'vitest';
import { HARBOUR } from '../support/harbour-library.ts';
import { type Application, PICTURES } from './support/application.ts';
import { Harbour } from './support/harbour.ts';
import { windowTest } from './support/window-test.ts';
import type { Workbench } from './support/workbench.ts';

/** Nothing is drawn that is about nothing. */
const STILL = {
  'editor.minimap.enabled': false,
  'editor.scrollBeyondLastLine': false,
  'fairlead.notifications': false,
};

const it = windowTest({ files: HARBOUR, settings: STILL });

/** Each theme with the class by which the workbench says that it is drawn in it. */
const THEMES = {
  dark: ['Dark 2026', 'vs-dark'],
  light: ['Light 2026', 'vs'],
  'high contrast dark': ['Dark High Contrast', 'hc-black'],
  'high contrast light': ['Light High Contrast', 'hc-light'],
} as const;
/** What those look like that agents have to be told: they do not ask their terminal. */
type Side = 'dark' | 'light';

/** Text has to stand out from what is behind it by so much. Source: WCAG 2.2, success criterion 1.4.3. */
const READABLE = 4.5;

describe('pictures', () => {
  it('show every state in every theme, and nothing that cannot be read', async ({ app, onTestFinished }) => {
    app.world.claude.paint('dark');
    const harbour = new Harbour(app.world);
    onTestFinished(() => harbour.release());
    // What is done and waits for nothing, side by side.
    const [rewritten, listed, lands, queued] = await Promise.all([
      harbour.rewrites(),
      harbour.lists(),
      harbour.finishes('Draw the boats', 'docs/boats.md', '# Boats\n'),
      harbour.finishes('Name the boats', 'docs/names.md', '# Names\n'),
      harbour.elsewhere(),
    ]);
    await Promise.all([harbour.landed(), harbour.sleeps(), harbour.rests(), harbour.interrupted()]);
    await Promise.all([harbour.attempts(), harbour.finishes(), harbour.works(), harbour.waits()]);
    // The oldest need is the first.
    const asks = await harbour.asksPermission();
    await harbour.asksQuestion();
    await harbour.plans();
    await harbour.conflicts(rewritten.id);
    await harbour.fails();
    await harbour.resolves(listed.id);
    await harbour.land(lands.id, 'sleep 1000');
    await harbour.land(queued.id, 'sleep 1000');

    const window = await app.window(harbour.repository.folder);
    onTestFailed(() => app.picture(window, 'failed pictures'));
    await window.fleet.open();
    await window.openFile('harbour.js');
    await fleet(app, window, 'dark');
    expect(await window.fleet.withoutIcon()).toEqual([]);
    await window.fleet.row('Write the tests of Harbour').hover();
    await window.page.locator('.workbench-hover:visible').waitFor();
    await app.picture(window, 'tooltip');
    await window.restMouse();
    const resolves = window.fleet.row('List the boats by year');
    expect(await resolves.getAttribute('aria-label')).toContain('resolving');
    await resolves.hover();
    await window.page.locator('.workbench-hover:visible').waitFor();
    await app.picture(window, 'tooltip resolving');
    await window.status.hover();
    await window.page.locator('.workbench-hover', { hasText: 'New session' }).waitFor();
    await app.picture(window, 'status bar');
    await window.restMouse();
    await window.widenSidebar(200);
    await app.picture(window, 'fleet narrow');
    await story(window, harbour, 'dark');
    await flows(app, window);

    await window.command('Terminal: Kill All Terminals');
    await harbour.withdraws(asks);
    app.world.claude.paint('light');
    await harbour.asksPermission();
    await window.page.setViewportSize({ width: 1280, height: 800 });
    await window.openFile('harbour.js');
    await fleet(app, window, 'light');
    await story(window, harbour, 'light');
    await window.colourTheme(...THEMES.dark);

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

/** All sessions beside the terminal of one that asks, in the themes of one side. */
async function fleet(app: Application, window: Workbench, side: Side): Promise<void> {
  await window.fleet.click(window.fleet.row('Add longest() to Harbour'));
  await window.terminal.shows(/Do you want to/);
  await window.restMouse();
  for (const each of [side, `high contrast ${side}`] as const) {
    const [theme, drawn] = THEMES[each];
    await window.colourTheme(theme, drawn);
    await still(window);
    await app.picture(window, `fleet ${each}`);
    const faint = (await window.rendering.contrasts()).filter(({ contrast }) => contrast < READABLE);
    expect.soft(faint, `texts in ${theme} that are hard to read`).toEqual([]);
  }
  const [theme, drawn] = THEMES[side];
  await window.colourTheme(theme, drawn);
}

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
    if (title === 'Plan the new pier') {
      await window.page.locator('.editor-instance').getByText('Drive the piles').waitFor();
    }
    await window.restMouse();
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
    await window.restMouse();
    await app.picture(window, `new session ${step}`);
    await window.page.keyboard.press('Enter');
    await window.question.getByText('Start', { exact: true }).waitFor();
  }
  await leave();
  await window.fleet.row('lighthouse').click();
  await window.fleet.act(window.fleet.row('Repaint the lamp room'), 'Land');
  await window.question.getByText('Where does main land?').waitFor();
  await window.restMouse();
  await app.picture(window, 'land where to');
  await leave();
  await window.fleet.row('Rewrite the changelog').hover();
  await window.page.locator('.workbench-hover:visible').waitFor();
  await app.picture(window, 'tooltip conflict');
  await window.fleet.choose(window.fleet.row('Write a usage section'), 'Show Conversation');
  await window.tab(/Write a usage section\.md/).waitFor();
  const said = window.page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
  await said.getByText('README.md is there.').first().waitFor();
  await window.restMouse();
  await app.picture(window, 'conversation');
}

/** The pictures of the walkthrough, and in the dark that of the page that introduces the extension. */
async function story(window: Workbench, harbour: Harbour, side: Side): Promise<void> {
  const step = (name: string) => clip(window, `media/walkthrough/${name}-${side}`);
  const asks = window.fleet.row('Add longest() to Harbour');
  const changes = async () => {
    await window.fleet.act(window.fleet.row('Write a usage section'), 'Open Changes');
    await window.page.locator('.multiDiffEntry', { hasText: 'README.md' }).waitFor();
    await coloured(window, '.multiDiffEntry');
  };
  if (side === 'dark') {
    await window.page.setViewportSize({ width: 1280, height: 880 });
    await window.widenSidebar(340);
    await changes();
    await window.fleet.click(asks);
    await window.raisePanel(440);
    await clip(window, 'docs/pictures/fairlead');
  }

  await window.command('View: Close All Editors');
  await window.page.setViewportSize({ width: 800, height: 500 });
  await window.widenSidebar(280);
  await window.fleet.click(asks);
  // It takes the focus when it comes, and with it that of the palette.
  await window.terminal.focused.waitFor();
  await window.command('View: Toggle Maximized Panel');
  await window.terminal.shows(/Do you want to/);
  await step('needs-you');
  await window.command('View: Toggle Maximized Panel');
  await window.command('View: Toggle Panel Visibility');

  await window.openFile('harbour.js');
  await coloured(window, '.editor-instance');
  await window.command('Fairlead: New Session');
  await window.question.locator('input').fill('Add a method shortest() beside longest()');
  await step('session');
  await window.page.keyboard.press('Escape');

  await window.command('View: Close All Editors');
  await changes();
  await window.fleet.act(window.fleet.row('Write a usage section'), 'Land');
  await window.dialog.waitFor();
  await step('land');
  await window.page.keyboard.press('Escape');
  await window.dialog.waitFor({ state: 'hidden' });
  expect(harbour.repository.show('main', 'README.md')).toBe(HARBOUR['README.md']);
}

/** Waits until what is open is in the colours of its language. */
async function coloured(window: Workbench, editor: string): Promise<void> {
  await window.page.locator(`${editor} .view-line span[class*="mtk"]:not(.mtk1)`).first().waitFor();
}

/** Waits until nothing is on its way, and an agent on screen has drawn itself in the size that its terminal has. */
async function still(window: Workbench): Promise<void> {
  const { page, terminal } = window;
  await window.still();
  // What takes long says so for as long as it does.
  await page.locator('.notifications-toasts .notification-list-item').first().waitFor({ state: 'hidden' });
  if (!(await terminal.screen.isVisible())) return;
  await expect
    .poll(async () => (await terminal.text()).split('\n').slice(-2).join('\n'))
    .toContain('Esc to cancel');
}

/** Keeps what is published, as PNG, by its path in the repository. */
async function clip(window: Workbench, path: string): Promise<void> {
  const file = join(PICTURES, 'published', `${path}.png`);
  mkdirSync(dirname(file), { recursive: true });
  await window.restMouse();
  await still(window);
  await window.page.screenshot({ path: file, animations: 'disabled' });
}
