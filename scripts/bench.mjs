// Measures, against peers: npm run bench -- [activate] [tree] [--json] [--quick]. Does its own set-up; with --json
// standard output has figures only.
import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { install, root, run } from './setup.mjs';

install();
run('node', ['test/bench/setup.ts'], {}, ['inherit', process.stderr, 'inherit']);
const bin = join(root, 'node_modules', '.bin');
const child = spawn('node', ['test/bench/main.ts', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
});
// It ends what it has started, and then itself.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(signal === null ? code : 1));
