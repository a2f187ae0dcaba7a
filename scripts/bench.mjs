// Measures, against peers: npm run bench -- [activate] [tree] [--json] [--quick]. Does its own set-up; with --json
// standard output has figures only.
import { install, run } from './setup.mjs';

await install();
await run('node', ['test/bench/main.ts', ...process.argv.slice(2)]);
