import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/{unit,integration,faults}/**/*.test.ts'],
    // Real processes on a small machine: two workers keep the timings of PTYs and agents honest.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/support/summary-reporter.ts'],
    setupFiles: ['test/support/property-seed.ts'],
    globalSetup: ['test/support/global-setup.ts'],
  },
});
