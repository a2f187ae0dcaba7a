// Sets up, packages the extension and plays the main job on a demo repository, in a window of VS Code; with --once in
// the terminal alone. Arguments go to the demo: npm start -- --real
import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { install, run } from './setup.mjs';

let once = false;
try {
  const options = { once: { type: 'boolean' }, real: { type: 'boolean' }, keep: { type: 'boolean' } };
  once = parseArgs({ options }).values.once ?? false;
} catch (error) {
  console.error(`${error.message.split('. ')[0]}.`);
  console.error(
    'Usage: npm start -- [--once] [--real] [--keep]   (--once: no window, ends by itself; --real: with your own claude; --keep: leave its folder)',
  );
  process.exit(2);
}

const chosen = process.argv.slice(2);
if (!once && !process.stdout.isTTY) {
  // Nobody would see the address of the window, or end it.
  console.log('Without a terminal it plays as with --once.');
  once = true;
  chosen.push('--once');
}
await install();
await run('node', once ? ['scripts/build.mjs'] : ['scripts/package.mjs', '--own']);
await run('node', ['scripts/demo/main.ts', ...chosen], {
  FAIRLEAD_DEMO_NODE: nodeOfPerson(),
});

/** Version of the Node that the person's own commands run on, not the one that npm puts before it; empty for none. */
function nodeOfPerson() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const own = folders.filter((folder) => !folder.endsWith(join('node_modules', '.bin')));
  const env = { ...process.env, PATH: own.join(delimiter) };
  const { stdout } = spawnSync('node', ['--version'], { env, encoding: 'utf8' });
  return (stdout ?? '').trim().replace(/^v/, '');
}
