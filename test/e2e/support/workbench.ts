import { type Browser, type ConsoleMessage, chromium, type Locator, type Page } from 'playwright-core';

/** How long something that has to appear may take on a busy machine, in milliseconds. */
const PATIENCE = 30_000;

/** Complaints of the workbench itself in a browser, which no extension can help. */
const NOT_OURS =
  /favicon|service-worker|net::ERR_|Failed to load resource|ResizeObserver|marketplace|vsda|gallery|WebGL|sandbox|An iframe which has both|punycode|navigator is now a global|serviceWorker|bad HTTP response code|authentication provider/i;

let browser: Promise<Browser> | undefined;

function openBrowser(): Promise<Browser> {
  browser ??= chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  return browser;
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = undefined;
}

/** A window of VS Code, as a person sees and uses it. */
export class Workbench implements AsyncDisposable {
  readonly page: Page;
  /** Errors of the console that are nobody else's. */
  readonly errors: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    page.on('console', (message) => this.#heard(message));
    page.on('pageerror', (error) => this.errors.push(String(error)));
  }

  static async open(
    url: string,
    folder: string | undefined,
    size = { width: 1280, height: 800 },
  ): Promise<Workbench> {
    const context = await (await openBrowser()).newContext({ viewport: size });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    const workbench = new Workbench(page);
    await page.goto(folder === undefined ? url : `${url}/?folder=${encodeURIComponent(folder)}`);
    await workbench.ready();
    return workbench;
  }

  async ready(): Promise<void> {
    await this.page.locator('.statusbar-item[id^="fairlead.fairlead"]').waitFor();
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

  async openFleet(): Promise<void> {
    const fleet = this.page.locator('.sidebar .composite.title', { hasText: /Fairlead/i });
    if (!(await fleet.isVisible())) {
      await this.page
        .locator('.activitybar')
        .getByRole('tab', { name: /^Fairlead/ })
        .click();
    }
    await fleet.waitFor();
  }

  /** A row of the fleet, by what it shows. */
  row(text: string | RegExp): Locator {
    return this.page.locator('.customview-tree .monaco-list-row', { hasText: text });
  }

  async rows(): Promise<string[]> {
    return this.page.locator('.customview-tree .monaco-list-row').allInnerTexts();
  }

  notification(text: string | RegExp): Locator {
    return this.page.locator('.notifications-toasts .notification-list-item', { hasText: text });
  }

  /** Presses a button of a notification or a dialog. */
  async press(within: Locator, button: string): Promise<void> {
    await within.locator('a.monaco-button', { hasText: button }).click();
  }

  get dialog(): Locator {
    return this.page.locator('.monaco-dialog-box');
  }

  get terminal(): Locator {
    return this.page.locator('.terminal-wrapper.active .xterm-rows');
  }

  /** What is on the screen of the active terminal. */
  async terminalText(): Promise<string> {
    const rows = await this.page.locator('.terminal-wrapper.active .xterm-rows > div').allTextContents();
    return rows.map((row) => row.replaceAll('\u00a0', ' ').trimEnd()).join('\n');
  }

  async terminalShows(text: string | RegExp): Promise<void> {
    const fits = (all: string) => (typeof text === 'string' ? all.includes(text) : text.test(all));
    for (let waited = 0; ; waited += 100) {
      const shown = await this.terminalText();
      if (fits(shown)) return;
      if (waited > PATIENCE) throw new Error(`the terminal never shows ${text}:\n${shown}`);
      await this.page.waitForTimeout(100);
    }
  }

  async typeInTerminal(keys: string): Promise<void> {
    await this.page.locator('.terminal-wrapper.active .xterm-screen').click();
    await this.page.keyboard.type(keys);
  }

  tab(text: string | RegExp): Locator {
    return this.page.locator('.tabs-container .tab', { hasText: text });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }

  #heard(message: ConsoleMessage): void {
    if (message.type() !== 'error') return;
    const text = message.text();
    if (!NOT_OURS.test(text)) this.errors.push(text);
  }
}
