// Takes the pictures of the walkthrough and of README.md anew, in a real window, and puts them where they are read:
//   npm run pictures
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { install, root, run } from './setup.mjs';

const published = join(root, 'test/.output/pictures/published');
rmSync(published, { recursive: true, force: true });
await install();
await run('vitest', ['run', 'test/e2e/pictures.test.ts']);
if (!existsSync(published)) {
  console.error('No picture was taken: the end of the run says what is missing for a window.');
  process.exit(1);
}
// Below it they lie as in the repository.
cpSync(published, root, { recursive: true });
console.log('Look at what is new in docs/pictures and media/walkthrough before you commit it.');
