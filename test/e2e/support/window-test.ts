import { afterAll, test } from 'vitest';
import { Application, type ApplicationOptions } from './application.ts';
import { closeBrowser } from './browser.ts';
import type { Workbench } from './workbench.ts';

interface Fixtures {
  /** One for all tests of the file: its sessions and its server stay. */
  app: Application;
  /** A window on the repository, of this test alone; kept as a picture when the test fails. */
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
    window: async ({ app, task }, use) => {
      await using window = await app.window();
      await use(window);
      if (task.result?.state === 'fail') await app.picture(window, `failed ${task.name}`);
    },
  });
}
