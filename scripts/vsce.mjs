// Packages a staged folder with vsce.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './setup.mjs';

/**
 * Makes a VSIX of the folder `stage`. Whatever vsce warns of is an error: where nobody is at a terminal it warns on standard
 * error, says yes to its own question and goes on.
 */
export function vsce({ node, stage, file, target, flags }) {
  const program = join(root, 'node_modules', '@vscode', 'vsce', 'vsce');
  // Everything is bundled, and what is native stands below dist/.
  const args = ['package', '--target', target, '--no-dependencies', ...flags, '-o', file];
  const { status, stdout, stderr, error } = spawnSync(node, [program, ...args], {
    cwd: stage,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`vsce fails:\n${stdout}${stderr}`);
  if (/warning/i.test(stdout + stderr)) throw new Error(`vsce warns:\n${stdout}${stderr}`);
}
