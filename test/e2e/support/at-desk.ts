import { afterAll, test } from 'vitest';
import { Desk, type DeskOptions } from './window.ts';
import { closeBrowser, type Workbench } from './workbench.ts';

interface AtDesk {
  /** One for all tests of the file: its sessions and its server stay. */
  desk: Desk;
  /** A window on the repository, of this test alone; kept as a picture when the test fails. */
  window: Workbench;
}

/** The `it` of a file of tests that are played by a person at a desk of their own. */
export function atDesk(options: DeskOptions = {}) {
  afterAll(closeBrowser);
  return test.extend<AtDesk>({
    desk: [
      // biome-ignore lint/correctness/noEmptyPattern: what a fixture needs is read from its parameter.
      async ({}, use) => {
        await using desk = await Desk.open(options);
        await use(desk);
      },
      { scope: 'file' },
    ],
    window: async ({ desk, task }, use) => {
      await using window = await desk.window();
      await use(window);
      if (task.result?.state === 'fail') await desk.picture(window, `failed ${task.name}`);
    },
  });
}
