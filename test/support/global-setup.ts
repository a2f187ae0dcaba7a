import { execFileSync } from 'node:child_process';

/** Builds the bundles once, so that what the tests start is what ships. */
export default function setup(): void {
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
}
