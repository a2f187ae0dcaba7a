import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { styleText } from 'node:util';
import type { TestProject } from 'vitest/node';
import { installBrowser, installCodeServer } from './installation.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

declare module 'vitest' {
  interface ProvidedContext {
    /** Why no window can be opened on this machine, and what would help; '' when one can. */
    noWindow: string;
  }
}

/** Brings the browser and the server, and packages the bundles, so that what the windows run is what ships. */
export default async function setup(project: TestProject): Promise<void> {
  const missing = (await installBrowser()) ?? (await installCodeServer());
  project.provide('noWindow', missing ?? '');
  if (missing !== undefined) {
    console.error(styleText('yellow', `\nThe tests in a window are skipped. ${missing}\n`));
    return;
  }
  for (const script of [['scripts/build.mjs'], ['scripts/package.mjs', '--no-build']]) {
    execFileSync(process.execPath, script, { cwd: ROOT, stdio: 'inherit' });
  }
}
