import type { Locator, Page } from 'playwright-core';
import { openBrowser } from './browser.ts';
import { errorIn } from './console-errors.ts';
import { FleetView } from './fleet-view.ts';
import { PATIENCE_MS } from './patience.ts';
import { Rendering } from './rendering.ts';
import { TerminalPanel } from './terminal-panel.ts';

const SIZE = { width: 1280, height: 800 };

/** A window of VS Code, as a person sees and uses it. Disposing fails when its console showed an error. */
export class Workbench implements AsyncDisposable {
  readonly page: Page;
  readonly fleet: FleetView;
  readonly terminal: TerminalPanel;
  readonly rendering: Rendering;
  /** Errors of the console that are nobody else's. */
  readonly errors: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    this.fleet = new FleetView(page);
    this.terminal = new TerminalPanel(page);
    this.rendering = new Rendering(page);
    page.on('console', (message) => {
      const error = errorIn(message);
      if (error !== undefined) this.errors.push(error);
    });
    page.on('pageerror', (error) => this.errors.push(String(error)));
  }

  static async open(url: string, folder: string | undefined, size = SIZE): Promise<Workbench> {
    const context = await (await openBrowser()).newContext({ viewport: size });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const workbench = new Workbench(page);
    const kind = folder?.endsWith('.code-workspace') ? 'workspace' : 'folder';
    await page.goto(folder === undefined ? url : `${url}/?${kind}=${encodeURIComponent(folder)}`);
    await workbench.ready();
    return workbench;
  }

  /** Waits until the extension is there. */
  async ready(): Promise<void> {
    await this.status.waitFor();
  }

  /** Of Fairlead, in the status bar. */
  get status(): Locator {
    return this.page.locator('.statusbar-item[id^="fairlead.fairlead"]');
  }

  /** As the browser's own reload does it: the window hears of it too late to keep anything. */
  async reloadPage(): Promise<void> {
    await this.page.reload();
    await this.ready();
  }

  /** As the command does it. */
  async reloadWindow(): Promise<void> {
    const reloaded = this.page.waitForEvent('domcontentloaded');
    await this.command('Developer: Reload Window');
    await reloaded;
    await this.ready();
  }

  /** Runs a command by its name in the palette. */
  async command(name: string): Promise<void> {
    await this.page.keyboard.press('F1');
    const input = this.page.locator('.quick-input-widget input.input');
    await input.fill(`>${name}`);
    // Without this Enter would run the command that was used last.
    await this.page.locator('.quick-input-widget .monaco-list-row.focused', { hasText: name }).waitFor();
    await this.page.keyboard.press('Enter');
  }

  /** Names of the commands that the palette offers for what is typed, and has in its sight; it is closed then. */
  async offered(typed: string): Promise<string[]> {
    await this.page.keyboard.press('F1');
    await this.question.locator('input.input').fill(`>${typed}`);
    const rows = this.question.locator('.monaco-list-row');
    // Until it has looked, it shows what it had before.
    await this.question
      .locator('.monaco-list-row.focused .monaco-highlighted-label .highlight')
      .first()
      .waitFor();
    const names = await rows.locator('.label-name').allInnerTexts();
    await this.page.keyboard.press('Escape');
    await this.question.waitFor({ state: 'hidden' });
    return names.map((name) => name.replaceAll('\u00a0', ' '));
  }

  /** Opens a file of the workspace by its name, as Go to File does. */
  async openFile(name: string): Promise<void> {
    await this.page.keyboard.press('Control+P');
    await this.question.locator('input.input').fill(name);
    // It looks for files while Enter would already take what it had before.
    await this.question.locator('.monaco-list-row.focused', { hasText: name }).waitFor();
    await this.page.keyboard.press('Enter');
    await this.tab(name).waitFor();
  }

  /** Types into the question that is open, and accepts. */
  async answer(text: string): Promise<void> {
    const input = this.page.locator('.quick-input-widget:visible input.input');
    await input.waitFor();
    await input.fill(text);
    await this.page.keyboard.press('Enter');
  }

  /** Picks a row of the list that is open. */
  async pick(text: string | RegExp): Promise<void> {
    await this.page
      .locator('.quick-input-widget:visible .monaco-list-row', { hasText: text })
      .first()
      .click();
  }

  /** What the open question is called. */
  get question(): Locator {
    return this.page.locator('.quick-input-widget:visible');
  }

  /** Closes the editor that lies over the others. While that has the focus it takes the keys of most commands. */
  async closeModal(): Promise<void> {
    const modal = this.page.locator('.monaco-modal-editor-block');
    await modal
      .locator('.modal-editor-action-container')
      .getByRole('button', { name: /^Close/ })
      .click();
    await modal.waitFor({ state: 'detached' });
  }

  async openSourceControl(): Promise<void> {
    const title = this.page.locator('.sidebar .composite.title', { hasText: /Source Control/i });
    if (!(await title.isVisible())) {
      await this.page
        .locator('.activitybar')
        .getByRole('tab', { name: /^Source Control/ })
        .click();
    }
    await title.waitFor();
  }

  /** Chooses a colour theme; `drawn` is the class by which the workbench says that it is drawn in it. */
  async colourTheme(theme: string, drawn: string): Promise<void> {
    await this.page.keyboard.press('F1');
    await this.question.locator('input.input').fill('>Preferences: Color Theme');
    await this.pick(/^Preferences: Color Theme/);
    await this.question
      .getByText(/Select Color Theme|Current|light themes|dark themes/i)
      .first()
      .waitFor();
    await this.question.locator('input.input').fill(theme);
    await this.question.locator('.monaco-list-row.focused', { hasText: theme }).waitFor();
    await this.page.keyboard.press('Enter');
    await this.page.locator(`.monaco-workbench.${drawn}`).waitFor();
    await this.question.waitFor({ state: 'hidden' });
  }

  /** Waits until nothing is on its way that a picture would catch halfway. */
  async still(): Promise<void> {
    await this.page.locator('.terminal-resize-overlay.visible').waitFor({ state: 'hidden' });
    await this.page.locator('.statusbar-item', { hasText: 'Analyzing' }).waitFor({ state: 'hidden' });
    await this.page
      .locator('.sidebar .monaco-progress-container.active')
      .first()
      .waitFor({ state: 'hidden' });
    // A view that is busy says that where its number stands.
    const badges = this.page.locator('.activitybar .badge:visible');
    while (!(await badges.allInnerTexts()).every((text) => /^\d+$/.test(text.trim()))) {
      await this.page.waitForTimeout(50);
    }
  }

  /** Moves the mouse to where nothing answers to it, and waits until what did has gone. */
  async restMouse(): Promise<void> {
    const { width, height } = this.page.viewportSize() ?? { width: 800, height: 500 };
    await this.page.mouse.move(width - 40, height * 0.55);
    await this.page.locator('.workbench-hover:visible').waitFor({ state: 'hidden' });
  }

  /** Drags the border of the sidebar until that is about so wide, in pixels. */
  async widenSidebar(width: number): Promise<void> {
    const { x, y, height, width: before } = await this.#boxOf('.part.sidebar');
    const middle = y + height / 2 + 120;
    await this.#drag([x + before + 1, middle], [x + width + 1, middle]);
  }

  /** Drags the border of the panel until that is about so high, in pixels. */
  async raisePanel(height: number): Promise<void> {
    const { x, y, width, height: before } = await this.#boxOf('.part.panel');
    // Beside the middle, which is where a mark lies on it.
    const column = x + width / 4;
    await this.#drag([column, y - 1], [column, y + before - height - 1]);
  }

  async #boxOf(part: string): Promise<{ x: number; y: number; width: number; height: number }> {
    const box = await this.page.locator(part).boundingBox();
    if (box === null) throw new Error(`there is no ${part}`);
    return box;
  }

  async #drag(from: readonly [number, number], to: readonly [number, number]): Promise<void> {
    const { mouse } = this.page;
    await mouse.move(...from);
    await mouse.down();
    await mouse.move(...to, { steps: 5 });
    await mouse.up();
    await this.restMouse();
  }

  notification(text: string | RegExp): Locator {
    return this.page.locator('.notifications-toasts .notification-list-item', { hasText: text });
  }

  /** Notes the notifications that come from now on; gives what they said, in their order. */
  async toldNotifications(): Promise<() => Promise<string[]>> {
    await this.page.evaluate(`{
      const told = [];
      globalThis.fairleadTold = told;
      new MutationObserver(() => {
        for (const each of document.querySelectorAll('.notifications-toasts .notification-list-item-message')) {
          const text = each.textContent ?? '';
          if (text !== '' && !told.includes(text)) told.push(text);
        }
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    }`);
    return () => this.page.evaluate<string[]>('globalThis.fairleadTold');
  }

  /** Presses a button of a notification or a dialog. */
  async press(within: Locator, button: string): Promise<void> {
    await within.locator('a.monaco-button', { hasText: button }).click();
  }

  get dialog(): Locator {
    return this.page.locator('.monaco-dialog-box');
  }

  tab(text: string | RegExp): Locator {
    return this.page.locator('.tabs-container .tab', { hasText: text });
  }

  /** Drops the errors so far that fit: those that a test means to cause. */
  forgive(errors: RegExp): void {
    const kept = this.errors.filter((error) => !errors.test(error));
    this.errors.splice(0, this.errors.length, ...kept);
  }

  /** Closes all that is open in it, as in a window that was just opened with nothing to restore. */
  async tidy(): Promise<void> {
    await this.page.setViewportSize(SIZE);
    await this.page.keyboard.press('Escape');
    await this.question.waitFor({ state: 'hidden' });
    await this.command('Terminal: Kill All Terminals');
    await this.page.locator('.terminal-wrapper').first().waitFor({ state: 'detached' });
    await this.command('View: Close All Editors');
    const discard = this.dialog.locator('a.monaco-button', { hasText: "Don't Save" });
    for (let waited = 0; (await this.page.locator('.tabs-container .tab').count()) > 0; waited += 50) {
      if (waited > PATIENCE_MS) throw new Error('not all editors close');
      if (await discard.isVisible()) await discard.click();
      await this.page.waitForTimeout(50);
    }
    const panel = this.page.locator('.part.panel');
    if (await panel.isVisible()) await this.command('View: Hide Panel');
    await panel.waitFor({ state: 'hidden' });
    await this.command('Notifications: Clear All Notifications');
    await this.page.locator('.notifications-toasts .notification-list-item').waitFor({ state: 'detached' });
  }

  /** @throws Error when its console showed an error since the last time */
  check(): void {
    const errors = this.errors.splice(0);
    if (errors.length > 0) throw new Error(`The console of a window showed:\n${errors.join('\n')}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      // Before it goes: what the workbench says while it does is about its going.
      this.check();
    } finally {
      await this.page.context().close();
    }
  }
}
