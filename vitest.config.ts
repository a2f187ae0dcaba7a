import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    reporters: ['default', './test/support/summary-reporter.ts'],
    projects: [
      {
        test: {
          name: 'headless',
          include: ['test/{unit,integration,faults}/**/*.test.ts'],
          // What only an editor has; the tests of the window have the real one.
          alias: { vscode: resolve(import.meta.dirname, 'test/support/vscode.ts') },
          // Real processes on a small machine: two workers keep the timings of PTYs and agents honest.
          maxWorkers: 2,
          testTimeout: 30_000,
          hookTimeout: 60_000,
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/property-seed.ts'],
        },
      },
      {
        test: {
          name: 'window',
          include: ['test/e2e/**/*.test.ts'],
          // After all others, whose timings they would spoil. Two at a time: while one waits for its agent, the other draws.
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
          testTimeout: 300_000,
          hookTimeout: 120_000,
          // What has to appear may take its time on a busy machine.
          expect: { poll: { timeout: 30_000, interval: 100 } },
          globalSetup: ['test/e2e/support/global-setup.ts'],
          setupFiles: ['test/e2e/support/need-window.ts'],
        },
      },
    ],
  },
});
