import type { Locator, Page } from 'playwright-core';
import { PATIENCE_MS } from './patience.ts';

/** The terminals of a window: what is on the screen of the active one, and its keys. */
export class TerminalPanel {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  get screen(): Locator {
    return this.#page.locator('.terminal-wrapper.active .xterm-rows');
  }

  /** The active terminal, once it has the focus. */
  get focused(): Locator {
    return this.#page.locator('.terminal-wrapper.active .xterm.focus');
  }

  /** What is on the screen of the active terminal. */
  async text(): Promise<string> {
    const rows = await this.#page.locator('.terminal-wrapper.active .xterm-rows > div').allTextContents();
    return rows.map((row) => row.replaceAll('\u00a0', ' ').trimEnd()).join('\n');
  }

  async shows(text: string | RegExp): Promise<void> {
    const fits = (all: string) => (typeof text === 'string' ? all.includes(text) : text.test(all));
    for (let waited = 0; ; waited += 100) {
      const shown = await this.text();
      if (fits(shown)) return;
      if (waited > PATIENCE_MS) throw new Error(`the terminal never shows ${text}:\n${shown}`);
      await this.#page.waitForTimeout(100);
    }
  }

  async type(keys: string): Promise<void> {
    await this.#page.locator('.terminal-wrapper.active .xterm-screen').click();
    await this.#page.keyboard.type(keys);
  }

  /** Follows a link that the active terminal shows, once its tooltip says what it does. */
  async followLink(link: string, does: string): Promise<void> {
    const { x, y }: { x: number; y: number } = await this.#page.evaluate(`(() => {
      const rows = [...document.querySelectorAll('.terminal-wrapper.active .xterm-rows > div')];
      const row = rows.findLast((each) => each.textContent.includes(${JSON.stringify(link)}));
      let at = row.textContent.indexOf(${JSON.stringify(link)}) + 1;
      const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
      while (texts.nextNode() && at >= texts.currentNode.length) at -= texts.currentNode.length;
      const range = document.createRange();
      range.setStart(texts.currentNode, at);
      range.setEnd(texts.currentNode, at + 1);
      const { left, right, top, bottom } = range.getBoundingClientRect();
      return { x: (left + right) / 2, y: (top + bottom) / 2 };
    })()`);
    await this.#page.mouse.move(x, y);
    await this.#page.locator('.workbench-hover', { hasText: does }).waitFor();
    await this.#page.keyboard.down('Control');
    await this.#page.mouse.click(x, y);
    await this.#page.keyboard.up('Control');
  }

  /** Rows of the active terminal. */
  async rows(): Promise<number> {
    return this.#page.locator('.terminal-wrapper.active .xterm-rows > div').count();
  }

  /** Names of the terminals in the panel, in their order; one alone stands in the title. */
  async names(): Promise<string[]> {
    const list = this.#page.locator('.terminal-tabs-entry');
    const names = (await list.count()) > 0 ? list : this.#page.locator('.single-terminal-tab');
    // The list keeps rows that it does not show.
    return (await names.allInnerTexts()).map((name) => name.trim()).filter((name) => name !== '');
  }
}
