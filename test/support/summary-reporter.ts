import type { Reporter, TestModule } from 'vitest/node';

/** Prints the closing line `N passed, N failed` that a log reader looks for; a skipped test is counted as failed in CI. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    let passed = 0;
    let failed = unhandled.length;
    let skipped = 0;
    /** Why, with how many for that reason. */
    const reasons = new Map<string, number>();
    for (const module of modules) {
      if (module.errors().length > 0) failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === 'passed') passed += 1;
        else if (result.state === 'failed') failed += 1;
        else {
          skipped += 1;
          const reason = (result.state === 'skipped' && result.note) || 'without a reason';
          reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
        }
      }
    }
    for (const [reason, count] of reasons) console.error(`${count} skipped: ${reason}`);
    if (process.env.CI && skipped > 0) {
      failed += skipped;
      process.exitCode = 1;
      console.error(`${skipped} skipped tests count as failures in CI`);
      skipped = 0;
    }
    console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  }
}
