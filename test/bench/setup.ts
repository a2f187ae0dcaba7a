import { execFileSync } from 'node:child_process';
import { installBrowser, installCodeServer } from '../e2e/support/installation.ts';

/**
 * What the benchmarks measure is what ships: packaged, in a real editor. Standard output is left to the figures.
 * @returns what keeps it from being there, as a sentence
 */
export async function setUp(): Promise<string | undefined> {
  const missing = (await installBrowser()) ?? (await installCodeServer());
  if (missing !== undefined) return missing;
  execFileSync(process.execPath, ['scripts/package.mjs'], { stdio: ['inherit', 2, 2] });
  return undefined;
}
