import type { Locator, Page } from 'playwright-core';

/** Fairlead's view in the side bar of a window, and its icon. */
export class FleetView {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /** How many need the person, as the icon of the view shows it: '' for none. */
  async badge(): Promise<string> {
    const badge = this.activity.locator('.badge-content');
    return (await badge.isVisible()) ? ((await badge.textContent()) ?? '') : '';
  }

  get activity(): Locator {
    return this.#page.locator('.activitybar').getByRole('tab', { name: /^Fairlead/ });
  }

  async open(): Promise<void> {
    const fleet = this.#page.locator('.sidebar .composite.title', { hasText: /Fairlead/i });
    if (!(await fleet.isVisible())) {
      await this.activity.click();
      // Else it is told what the icon is called.
      await this.#page.mouse.move(640, 400);
    }
    await fleet.waitFor();
  }

  /** A row of the fleet, by what it shows. */
  row(text: string | RegExp): Locator {
    return this.#page.locator('.customview-tree .monaco-list-row', { hasText: text });
  }

  /** Clicks a row, as often as another one stands in its place by then: rows move when their sessions change. */
  async click(row: Locator): Promise<void> {
    for (let tries = 1; tries <= 10; tries += 1) {
      await row.click();
      if (/\bselected\b/.test((await row.getAttribute('class')) ?? '')) return;
    }
    throw new Error('the row is never the one that is selected');
  }

  /**
   * Chooses from the context menu of a row. VS Code forgets its rows while it draws all of them anew: what is chosen then
   * asks which session is meant, and is told.
   */
  async choose(row: Locator, item: string): Promise<void> {
    const title = (await row.locator('.label-name').first().textContent()) ?? '';
    const entry = this.#page.locator('.monaco-menu .action-menu-item', { hasText: item });
    // It is not there when a question that closed gave the focus back meanwhile, and is another's when the rows moved.
    for (let tries = 1; !(await this.#opensMenu(row, entry)); tries += 1) {
      if (tries === 10) throw new Error(`the menu of the row never has ${item}`);
      await this.#page.keyboard.press('Escape');
    }
    // A click right after the opening would be taken for the end of the one that opened it.
    await entry.hover();
    await this.#page.keyboard.press('Enter');
    void this.#tellWhich(title);
  }

  async #tellWhich(title: string): Promise<void> {
    const question = this.#page.locator('.quick-input-widget').filter({
      has: this.#page.locator('input[placeholder*="Which session"]'),
    });
    try {
      await question.waitFor({ timeout: 5_000 });
      await question.locator('.monaco-list-row', { hasText: title }).first().click();
    } catch {
      // It was known, and nothing is asked.
    }
  }

  /** Whether the menu that came where the row was is that of the row, and has the entry. */
  async #opensMenu(row: Locator, entry: Locator): Promise<boolean> {
    await row.scrollIntoViewIfNeeded();
    const before = await row.boundingBox();
    if (before === null) return false;
    await this.#page.mouse.click(before.x + 60, before.y + before.height / 2, { button: 'right' });
    const isOpen = await entry.waitFor({ timeout: 3_000 }).then(
      () => true,
      () => false,
    );
    return isOpen && (await row.boundingBox())?.y === before.y;
  }

  /** Presses a button of a row, which is there while the mouse is; follows the row when it moves meanwhile. */
  async act(row: Locator, name: string): Promise<void> {
    const button = row.locator(`.actions .action-label[aria-label^="${name}"]`);
    for (let tries = 1; ; tries += 1) {
      await row.hover();
      try {
        return await button.click({ timeout: 3_000 });
      } catch (error) {
        if (tries === 10) throw error;
      }
    }
  }

  /** What a screen reader says of each row of the fleet, in their order. */
  async labels(): Promise<string[]> {
    const rows = await this.#page.locator('.customview-tree .monaco-list-row').all();
    const labels = await Promise.all(
      rows.map(async (row) => ({
        at: Number(await row.getAttribute('data-index')),
        label: (await row.getAttribute('aria-label')) ?? '',
      })),
    );
    return labels.sort((a, b) => a.at - b.at).map(({ label }) => label);
  }

  /** Titles of the rows whose icon the workbench does not have. */
  async withoutIcon(): Promise<string[]> {
    return this.#page.evaluate(`[...document.querySelectorAll('.customview-tree .monaco-list-row')].filter((row) => {
      const icon = row.querySelector('.custom-view-tree-node-item-icon');
      return icon === null || ['none', '""', 'normal'].includes(getComputedStyle(icon, '::before').content);
    }).map((row) => row.getAttribute('aria-label'))`);
  }

  /** What the view says while it has no row. */
  get welcome(): Locator {
    return this.#page.locator('.welcome-view-content:visible');
  }
}
