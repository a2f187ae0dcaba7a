import { type Browser, type ConsoleMessage, chromium, type Locator, type Page } from 'playwright-core';
import { findBrowser } from './installation.ts';

/** How long something that has to appear may take on a busy machine, in milliseconds. */
const PATIENCE = 30_000;

/**
 * What VS Code says of itself: by its words, and by the address that they are about or come from where the words alone
 * could be anybody's. Each was seen with an empty window, or with the extension's part in it ruled out.
 */
const NOT_OURS: readonly { text: RegExp; url?: RegExp }[] = [
  // Files that only the program around the server has.
  {
    text: /^Failed to load resource: .* 404 /,
    url: /\/favicon[\w-]*\.(ico|svg)$|\/media\/templates\.png$|\/vsda(_bg)?\.(js|wasm)$|\/update\/check$/,
  },
  { text: /^A bad HTTP response code \(404\) was received when fetching the script\.$/, url: /^$/ },
  { text: /\[Service Worker\] registration TypeError: .*\/serviceWorker\.js/ },
  // The gallery of extensions, where there is no network.
  { text: /^Failed to load resource: net::ERR_/, url: /^https:\/\/open-vsx\.org\// },
  { text: /Failed: getaddrinfo \w+ open-vsx\.org/ },
  // What its own services gave up when the page went or began anew. An extension's would come with its name or scheme.
  {
    text: /^(?!.*\b(fairlead(-text)?:|fairlead\.fairlead\b)).*\bCanceled: Canceled\b/s,
    url: /\/workbench\.js$/,
  },
  // A sign-in that the server has no extension for.
  { text: /Timed out waiting for authentication provider 'github' to register/ },
  // The workbench's own services, when the page goes.
  { text: /\[lifecycle\] Long running operations during shutdown are unsupported in the web/ },
  { text: /Unable to write file 'vscode-log:.*\(Error: IndexedDB database 'vscode-web-db' is closed\.\)/ },
];

let browser: Promise<Browser> | undefined;

function openBrowser(): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error('There is no Chromium on PATH; CHROMIUM can name one.');
  browser ??= chromium.launch({
    executablePath,
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

/**
 * Opens a window that runs tests inside its extension host, and waits for their end: the exit code of the run, and what
 * was written to the host's console. The server has to have the smoke-test driver.
 */
export async function runInHost(url: string, withinMs: number): Promise<{ code: number; said: string }> {
  const context = await (await openBrowser()).newContext();
  try {
    const page = await context.newPage();
    const lines: string[] = [];
    const ended = Promise.withResolvers<number>();
    await page.exposeFunction('codeAutomationExit', (code: number) => ended.resolve(code));
    await page.exposeFunction('codeAutomationLog', (_kind: string, args: unknown[]) =>
      lines.push(args.join(' ')),
    );
    const timer = setTimeout(() => ended.reject(new Error(`no end:\n${lines.join('\n')}`)), withinMs);
    await page.goto(url);
    const code = await ended.promise.finally(() => clearTimeout(timer));
    return { code, said: lines.join('\n') };
  } finally {
    await context.close();
  }
}

/** A window of VS Code, as a person sees and uses it. Disposing fails when its console showed an error. */
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

  /** How many need the person, as the icon of the view shows it: '' for none. */
  async badge(): Promise<string> {
    const badge = this.activity.locator('.badge-content');
    return (await badge.isVisible()) ? ((await badge.textContent()) ?? '') : '';
  }

  get activity(): Locator {
    return this.page.locator('.activitybar').getByRole('tab', { name: /^Fairlead/ });
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

  async openFleet(): Promise<void> {
    const fleet = this.page.locator('.sidebar .composite.title', { hasText: /Fairlead/i });
    if (!(await fleet.isVisible())) {
      await this.activity.click();
    }
    await fleet.waitFor();
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

  /** A row of the fleet, by what it shows. */
  row(text: string | RegExp): Locator {
    return this.page.locator('.customview-tree .monaco-list-row', { hasText: text });
  }

  /** Chooses from the context menu of a row. */
  async choose(row: Locator, item: string): Promise<void> {
    await row.click({ button: 'right' });
    // A click right after the opening would be taken for the end of the one that opened it.
    await this.page.locator('.monaco-menu .action-menu-item', { hasText: item }).hover();
    await this.page.keyboard.press('Enter');
  }

  /** Presses a button of a row, which is there while the mouse is. */
  async act(row: Locator, name: string): Promise<void> {
    await row.hover();
    await row.locator(`.actions .action-label[aria-label^="${name}"]`).click();
  }

  /** How many frames the window draws until `during` is over, and the longest time between two, in milliseconds. */
  async framesDuring(during: () => Promise<void>): Promise<{ count: number; longest: number }> {
    await this.page.evaluate(`{
      const frames = { count: 0, longest: 0, last: performance.now(), on: true };
      globalThis.fairleadFrames = frames;
      const frame = (now) => {
        frames.count += 1;
        frames.longest = Math.max(frames.longest, now - frames.last);
        frames.last = now;
        if (frames.on) requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    }`);
    await during();
    return this.page.evaluate('globalThis.fairleadFrames.on = false, globalThis.fairleadFrames');
  }

  /** What a screen reader says of each row of the fleet, in their order. */
  async rowLabels(): Promise<string[]> {
    const rows = await this.page.locator('.customview-tree .monaco-list-row').all();
    const labels = await Promise.all(
      rows.map(async (row) => ({
        at: Number(await row.getAttribute('data-index')),
        label: (await row.getAttribute('aria-label')) ?? '',
      })),
    );
    return labels.sort((a, b) => a.at - b.at).map(({ label }) => label);
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

  /** Drags the border of the sidebar until that is about so wide, in pixels. */
  async widenSidebar(width: number): Promise<void> {
    const box = await this.page.locator('.part.sidebar').boundingBox();
    if (box === null) throw new Error('there is no sidebar');
    const { mouse } = this.page;
    const y = box.y + box.height / 2 + 120;
    await mouse.move(box.x + box.width + 1, y);
    await mouse.down();
    await mouse.move(box.x + width + 1, y, { steps: 5 });
    await mouse.up();
    await mouse.move(box.x + width + 300, 20);
  }

  /**
   * How much each text of a row, and the item in the status bar, stands out from what is behind it: 1 to 21, as WCAG
   * 2.2 defines it.
   */
  async contrasts(): Promise<{ text: string; contrast: number }[]> {
    return this.page.evaluate(`(() => {
      const channels = (color) => {
        const [r = 0, g = 0, b = 0, a = 1] = (color.match(/[\\d.]+/g) ?? []).map(Number);
        return color.startsWith('color(srgb') ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
      };
      const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
      const luminance = (color) => {
        const [r, g, b] = color.map((each) => {
          const part = each / 255;
          return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (element) => {
        const layers = [];
        for (let each = element; each !== null; each = each.parentElement) {
          layers.push(channels(getComputedStyle(each).backgroundColor));
        }
        return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
      };
      const texts = document.querySelectorAll(
        '.customview-tree .label-name, .customview-tree .label-description, [id^="fairlead.fairlead"] a',
      );
      return [...texts].filter((each) => each.textContent.trim() !== '').map((each) => {
        const ground = behind(each);
        const style = getComputedStyle(each);
        const [r, g, b, a] = channels(style.color);
        let opacity = a;
        for (let up = each; up !== null; up = up.parentElement) opacity *= Number(getComputedStyle(up).opacity);
        const [light, dark] = [luminance(over([r, g, b, opacity], ground)), luminance(ground)].sort((x, y) => y - x);
        return {
          text: each.textContent.trim(),
          contrast: Math.round(((light + 0.05) / (dark + 0.05)) * 10) / 10,
        };
      });
    })()`);
  }

  /** Titles of the rows whose icon the workbench does not have. */
  async rowsWithoutIcon(): Promise<string[]> {
    return this.page.evaluate(`[...document.querySelectorAll('.customview-tree .monaco-list-row')].filter((row) => {
      const icon = row.querySelector('.custom-view-tree-node-item-icon');
      return icon === null || ['none', '""', 'normal'].includes(getComputedStyle(icon, '::before').content);
    }).map((row) => row.getAttribute('aria-label'))`);
  }

  /** What the view says while it has no row. */
  get welcome(): Locator {
    return this.page.locator('.welcome-view-content:visible');
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

  /** Rows of the active terminal. */
  async terminalRows(): Promise<number> {
    return this.page.locator('.terminal-wrapper.active .xterm-rows > div').count();
  }

  /** Names of the terminals in the panel, in their order; one alone stands in the title. */
  async terminals(): Promise<string[]> {
    const list = this.page.locator('.terminal-tabs-entry');
    const names = (await list.count()) > 0 ? list : this.page.locator('.single-terminal-tab');
    // The list keeps rows that it does not show.
    return (await names.allInnerTexts()).map((name) => name.trim()).filter((name) => name !== '');
  }

  tab(text: string | RegExp): Locator {
    return this.page.locator('.tabs-container .tab', { hasText: text });
  }

  /** Drops the errors so far that fit: those that a test means to cause. */
  forgive(errors: RegExp): void {
    const kept = this.errors.filter((error) => !errors.test(error));
    this.errors.splice(0, this.errors.length, ...kept);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // What the workbench says while it goes is about its going.
    const errors = this.errors.splice(0);
    await this.page.context().close();
    if (errors.length > 0) throw new Error(`The console of a window showed:\n${errors.join('\n')}`);
  }

  #heard(message: ConsoleMessage): void {
    if (message.type() !== 'error') return;
    const text = message.text();
    const { url } = message.location();
    const isTheirs = NOT_OURS.some((each) => each.text.test(text) && (each.url?.test(url) ?? true));
    if (!isTheirs) this.errors.push(url === '' ? text : `${text} (${url})`);
  }
}
