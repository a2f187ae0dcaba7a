// Everything that must hold: formatting and lint, types, and the tests. Does its own set-up.
// Arguments go to vitest: npm test -- test/unit
import { install, run } from './setup.mjs';

install();
const chosen = process.argv.slice(2);
if (chosen.length === 0) {
  run('biome', ['check', '--error-on-warnings', '.']);
  run('tsc', ['--noEmit']);
}
run('vitest', ['run', ...chosen]);
