import type { Reporter, TestModule } from 'vitest/node';

/** Prints the closing line `N passed, N failed` that a log reader looks for; a skipped test is counted as failed in CI. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    let passed = 0;
    let failed = unhandled.length;
    let skipped = 0;
    for (const module of modules) {
      if (module.errors().length > 0) failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const state = test.result().state;
        if (state === 'passed') passed += 1;
        else if (state === 'failed') failed += 1;
        else skipped += 1;
      }
    }
    if (process.env.CI && skipped > 0) {
      failed += skipped;
      process.exitCode = 1;
      console.error(`${skipped} skipped tests count as failures in CI`);
      skipped = 0;
    }
    console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  }
}
