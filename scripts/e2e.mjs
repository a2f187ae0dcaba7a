// The tests in a real window: VS Code's server in headless Chromium. Does its own set-up.
// Arguments go to vitest: npm run test:e2e -- test/e2e/fleet.test.ts
import { install, run } from './setup.mjs';

install();
run('vitest', ['run', '--config', 'vitest.e2e.config.ts', ...process.argv.slice(2)]);
