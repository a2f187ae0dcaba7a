import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { withoutNpm } from '../../support/without-npm.ts';
import { SERVER } from './code-server.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const FOLDER = 'test/e2e/code-server';
/** What compiles the server's native modules, each with the package that has it. */
const TOOLS = { python3: 'python3', make: 'make', 'g++': 'g++' };
/** Without it they do not compile. */
const KERBEROS_HEADER = '/usr/include/gssapi/gssapi.h';
const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome'];
/** Between two times that it is told how long an installation has taken, in milliseconds. */
const TELL_EVERY_MS = 15_000;

/**
 * Installs VS Code's server into a folder of its own, when it is not there.
 * @returns why it cannot be had and what would help; undefined when it is there
 */
export async function installCodeServer(signal?: AbortSignal): Promise<string | undefined> {
  if (existsSync(SERVER)) return undefined;
  if (process.platform === 'linux') {
    const failure = await installPackages(missingToCompile(), signal);
    if (failure !== undefined) return `code-server's native modules cannot be compiled. ${failure}`;
  }
  const failure = await runTelling(
    `Installing code-server, once, into ${FOLDER} (0.6 GB, some minutes)`,
    `npm ci --prefix ${FOLDER} --no-audit --no-fund --loglevel=error`,
    signal,
  );
  if (failure === undefined && existsSync(SERVER)) return undefined;
  return `code-server could not be installed; \`npm ci --prefix ${FOLDER}\` says why.\n${failure ?? ''}`;
}

/**
 * Installs Chromium where no browser of its kind can be found.
 * @returns why it cannot be had and what would help; undefined when it is there
 */
export async function installBrowser(signal?: AbortSignal): Promise<string | undefined> {
  if (findBrowser() !== undefined) return undefined;
  const failure = await installPackages(['chromium'], signal);
  if (findBrowser() !== undefined) return undefined;
  return `There is no Chromium on PATH; CHROMIUM can name one elsewhere. ${failure ?? ''}`.trim();
}

/** The browser that CHROMIUM names, else the one on PATH. */
export function findBrowser(): string | undefined {
  return process.env.CHROMIUM || BROWSERS.map(onPath).find((file) => file !== undefined);
}

function missingToCompile(): string[] {
  const tools = Object.entries(TOOLS).filter(([tool]) => onPath(tool) === undefined);
  return [...tools.map(([, name]) => name), ...(existsSync(KERBEROS_HEADER) ? [] : ['libkrb5-dev'])];
}

function onPath(program: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Installs Debian's packages; only root on such a system can. Gives what would help when it fails. */
async function installPackages(names: readonly string[], signal?: AbortSignal): Promise<string | undefined> {
  if (names.length === 0) return undefined;
  const list = names.join(' ');
  const install = `apt-get install --yes --no-install-recommends ${list}`;
  const help = `On Debian: sudo ${install}`;
  if (process.getuid?.() !== 0 || !isDebian()) return help;
  const updated = await runTelling(`Looking for ${list}`, 'apt-get update --quiet=2', signal);
  const installed = await runTelling(`Installing ${list}`, `${install} --quiet=2`, signal);
  return installed === undefined ? undefined : [help, updated, installed].filter(Boolean).join('\n');
}

/** Runs a command, telling what it is for and how long it takes. Gives the end of what it printed when it fails. */
function runTelling(what: string, command: string, signal?: AbortSignal): Promise<string | undefined> {
  console.error(`${what}…`);
  const began = Date.now();
  const timer = setInterval(
    () => console.error(`  … ${Math.round((Date.now() - began) / 1_000)} s`),
    TELL_EVERY_MS,
  );
  const [program = '', ...args] = command.split(' ');
  return new Promise((done) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      env: { ...withoutNpm(process.env), DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(signal === undefined ? {} : { signal }),
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
