// Installs what the lock file names when that is not there yet. Runs on Node 20 and newer, with nothing installed.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, 'node_modules', '.bin');
const stamp = join(root, 'node_modules', '.fairlead-installed');

/** Makes node_modules match the lock file; quick when it does already. */
export function install() {
  const lock = statSync(join(root, 'package-lock.json')).mtimeMs;
  if (existsSync(stamp) && statSync(stamp).mtimeMs >= lock) return;
  console.log('Installing packages…');
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  writeFileSync(stamp, '');
}

/** Runs a program with the installed tools first on PATH; ends this process when it fails. */
export function run(command, args, env = {}, stdio = 'inherit') {
  const result = spawnSync(command, args, {
    cwd: root,
    stdio,
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}`, ...env },
  });
  if (result.error) throw result.error;
  if (result.status !== 0) process.exit(result.status ?? 1);
}
