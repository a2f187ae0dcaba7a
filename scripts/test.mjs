// Formatting and lint, types, and all tests without a window; those in one are `npm run test:window`. Does its own
// set-up. Arguments go to vitest: npm test -- test/unit
import { install, run } from './setup.mjs';

/** Whether the closing line is vitest's to print. */
let counted = false;
process.on('exit', (code) => {
  if (code !== 0 && !counted) console.log('0 passed, 1 failed');
});

await install();
const chosen = process.argv.slice(2);
if (chosen.length === 0) {
  await run('biome', ['check', '--error-on-warnings', '.']);
  await run('tsc', ['--noEmit']);
}
counted = true;
await run('vitest', ['run', ...(chosen.length === 0 ? ['--project', 'headless'] : chosen)]);
