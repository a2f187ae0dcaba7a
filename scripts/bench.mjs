// Measures, against peers: npm run bench -- [activate] [tree] [--json] [--quick]. Does its own set-up; with --json
// standard output has figures only.
import { install, run } from './setup.mjs';

/** Known before anything is installed for them. */
const BENCHMARKS = ['activate', 'tree'];
const unknown = process.argv.slice(2).filter((each) => !each.startsWith('-') && !BENCHMARKS.includes(each));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}; there are ${BENCHMARKS.join(', ')}.`);
  process.exit(2);
}
await install();
await run('node', ['test/bench/main.ts', ...process.argv.slice(2)]);
