// Sets up, builds and plays the main job on a demo repository. Arguments go to the demo: npm start -- --real
import { parseArgs } from 'node:util';
import { install, run } from './setup.mjs';

try {
  parseArgs({ options: { real: { type: 'boolean' }, keep: { type: 'boolean' } } });
} catch (error) {
  console.error(`${error.message.split('. ')[0]}.`);
  console.error(
    'Usage: npm start -- [--real] [--keep]   (--real: with your own claude; --keep: leave its folder)',
  );
  process.exit(2);
}

install();
run('node', ['scripts/build.mjs']);
run('node', ['scripts/demo/main.ts', ...process.argv.slice(2)], {
  FAIRLEAD_DEMO_NODE: process.versions.node,
});
