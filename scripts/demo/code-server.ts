import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { SERVER } from '../../test/e2e/support/code-server.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDER = 'test/e2e/code-server';
/** Without it the server's native modules do not compile. */
const KERBEROS_HEADER = '/usr/include/gssapi/gssapi.h';
const APT_GET = 'apt-get install --yes --no-install-recommends libkrb5-dev';
/** Between two times that it is told how long an installation has taken, in milliseconds. */
const TELL_EVERY_MS = 15_000;

/**
 * Installs VS Code's server into a folder of its own, when it is not there.
 * @returns why it cannot be had and what would help; undefined when it is there
 */
export async function installCodeServer(signal: AbortSignal): Promise<string | undefined> {
  if (existsSync(SERVER)) return undefined;
  if (process.platform === 'linux' && !existsSync(KERBEROS_HEADER)) {
    const why = `code-server needs the header gssapi.h to compile. On Debian: sudo ${APT_GET}`;
    if (process.getuid?.() !== 0 || !isDebian()) return why;
    const updated = await runTelling('Looking for libkrb5-dev', 'apt-get update --quiet=2', signal);
    const installed = await runTelling('Installing libkrb5-dev', `${APT_GET} --quiet=2`, signal);
    if (installed !== undefined) return `${why}\n${[updated, installed].filter(Boolean).join('\n')}`;
  }
  const failure = await runTelling(
    'Installing code-server, once, into test/e2e/code-server (0.6 GB, some minutes)',
    `npm ci --prefix ${FOLDER} --no-audit --no-fund --loglevel=error`,
    signal,
  );
  if (failure === undefined && existsSync(SERVER)) return undefined;
  return `code-server could not be installed; \`npm ci --prefix ${FOLDER}\` says why.\n${failure ?? ''}`;
}

/** Runs a command, telling what it is for and how long it takes. Gives the end of what it printed when it fails. */
function runTelling(what: string, command: string, signal: AbortSignal): Promise<string | undefined> {
  console.log(`${what}…`);
  const began = Date.now();
  const timer = setInterval(
    () => console.log(`  … ${Math.round((Date.now() - began) / 1_000)} s`),
    TELL_EVERY_MS,
  );
  const [program = '', ...args] = command.split(' ');
  return new Promise((done) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-2_000);
      });
    }
    const end = (failure: string | undefined) => {
      clearInterval(timer);
      done(failure);
    };
    child.once('error', (error) => end(error.message));
    child.once('close', (code) => end(code === 0 ? undefined : said.trim() || `it ended with ${code}`));
  });
}

function isDebian(): boolean {
  const file = '/etc/os-release';
  return existsSync(file) && /^ID(_LIKE)?=.*debian/m.test(readFileSync(file, 'utf8'));
}
