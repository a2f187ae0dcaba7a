import { execFileSync } from 'node:child_process';
import { installBrowser, installCodeServer } from '../e2e/support/installation.ts';

/** What the benchmarks measure is what ships: packaged, in a real editor. */
const missing = (await installBrowser()) ?? (await installCodeServer());
if (missing !== undefined) {
  console.error(missing);
  process.exit(1);
}
execFileSync(process.execPath, ['scripts/package.mjs'], { stdio: 'inherit' });
