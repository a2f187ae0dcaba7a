import { defineConfig } from 'vitest/config';

/** The tests in a real window; `npx vitest run` without this configuration leaves them out. */
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts'],
    // A server, a browser and agents keep two cores busy.
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 120_000,
    // What has to appear may take its time on a busy machine.
    expect: { poll: { timeout: 30_000, interval: 100 } },
    reporters: ['default', './test/support/summary-reporter.ts'],
    globalSetup: ['test/e2e/support/global-setup.ts'],
  },
});
