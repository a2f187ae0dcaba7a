// Sets up, builds and plays the main job on a demo repository. Arguments go to the demo: npm start -- --real
import { install, run } from './setup.mjs';

install();
run('node', ['scripts/build.mjs']);
run('node', ['scripts/demo/main.ts', ...process.argv.slice(2)], {
  FAIRLEAD_DEMO_NODE: process.versions.node,
});
