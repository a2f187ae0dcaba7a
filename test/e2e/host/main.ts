import { writeFileSync } from 'node:fs';
import { runHostTests } from './cases.ts';
import { commandTests } from './commands.ts';
import { contentsTests } from './contents.ts';
import { elsewhereTests } from './elsewhere.ts';
import { goodbyeTests } from './goodbye.ts';
import { readScene } from './scene.ts';
import { settingsTests } from './settings.ts';

/** What the extension host is told to run in place of tests of its own. */
export async function run(): Promise<void> {
  const scene = readScene();
  if (scene.suite === 'elsewhere') {
    elsewhereTests();
  } else {
    settingsTests();
    commandTests(scene);
    contentsTests(scene);
    // After it nothing works any more.
    goodbyeTests(scene);
  }
  writeFileSync(scene.results, JSON.stringify(await runHostTests()));
}
