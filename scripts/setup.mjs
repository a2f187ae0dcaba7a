// Installs what the lock file names when that is not there yet. Runs on Node 20 and newer, with nothing installed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, 'node_modules', '.bin');
const stamp = join(root, 'node_modules', '.fairlead-installed');

/** Makes node_modules match the lock file; quick when it does already. */
export async function install() {
  // By content: a checkout writes the lock file anew without a change, and to install anew takes what runs its packages.
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  console.log('Installing packages…');
  await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  writeFileSync(stamp, lock);
}

/**
 * Runs a program with the installed tools first on PATH. Ends this process when the program fails, and never before it:
 * what is told to end has to be able to do so in order.
 */
export async function run(command, args, env = {}, stdio = 'inherit') {
  const child = spawn(command, args, {
    cwd: root,
    stdio,
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}`, ...env },
  });
  const handlers = {
    // The terminal has sent it to the program as well.
    SIGINT: () => {},
    SIGTERM: () => child.kill('SIGTERM'),
    SIGHUP: () => child.kill('SIGHUP'),
  };
  for (const [signal, handler] of Object.entries(handlers)) process.on(signal, handler);
  const status = await new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  for (const [signal, handler] of Object.entries(handlers)) process.off(signal, handler);
  if (status !== 0) process.exit(status ?? 1);
}
