import { afterAll, test } from 'vitest';
import { Application, type ApplicationOptions } from './application.ts';
import { closeBrowser } from './browser.ts';
import type { Workbench } from './workbench.ts';

interface Fixtures {
  /** One for all tests of the file: its sessions and its server stay. */
  app: Application;
  /** The windows of the file; see `window`. */
  windows: LastingWindow;
  /**
   * A window on the repository: that of the file, in which nothing is open, or a new one after a test that failed. To
   * load one takes ten seconds of a processor. Kept as a picture when the test fails.
   */
  window: Workbench;
}

/** The `it` of a file of tests that are played in windows of one application. */
export function windowTest(options: ApplicationOptions = {}) {
  afterAll(closeBrowser);
  return test.extend<Fixtures>({
    app: [
      // biome-ignore lint/correctness/noEmptyPattern: what a fixture needs is read from its parameter.
      async ({}, use) => {
        await using app = await Application.open(options);
        await use(app);
      },
      { scope: 'file' },
    ],
    windows: [
      async ({ app }, use) => {
        await using windows = new LastingWindow(app);
        await use(windows);
      },
      { scope: 'file' },
    ],
    window: async ({ app, windows, task }, use) => {
      const window = await windows.get();
      await use(window);
      if (task.result?.state !== 'fail') return window.check();
      await app.picture(window, `failed ${task.name}`);
      await windows.close();
    },
  });
}

/** One window that test after test gets in the same state. */
class LastingWindow implements AsyncDisposable {
  readonly #app: Application;
  #window: Workbench | undefined;
  #wasOpened = false;

  constructor(app: Application) {
    this.#app = app;
  }

  async get(): Promise<Workbench> {
    const isFirst = !this.#wasOpened;
    this.#wasOpened = true;
    this.#window ??= await this.#app.window();
    // A new one has what was open in the one before.
    if (!isFirst) await this.#window.tidy();
    return this.#window;
  }

  async close(): Promise<void> {
    const window = this.#window;
    this.#window = undefined;
    await window?.page.context().close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
