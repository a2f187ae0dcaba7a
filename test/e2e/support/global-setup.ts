import { execFileSync, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { SERVER } from './code-server.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** Packages the extension, so that what the windows run is what ships, and brings the server and the browser. */
export default function setup(): void {
  const wanted = [
    ...(findBrowser() === undefined ? ['chromium'] : []),
    // Without its header the server's native modules do not compile.
    ...(existsSync(SERVER) || existsSync('/usr/include/gssapi/gssapi.h') ? [] : ['libkrb5-dev']),
  ];
  if (wanted.length > 0) installPackages(wanted);
  if (!existsSync(SERVER)) {
    console.log('Installing code-server…');
    execFileSync('npm', ['ci', '--prefix', 'test/e2e/code-server', '--no-audit', '--no-fund'], {
      cwd: ROOT,
      stdio: 'inherit',
    });
  }
  const browser = findBrowser();
  if (browser === undefined) throw new Error('Chromium was installed and is not on PATH: set CHROMIUM.');
  process.env.CHROMIUM = browser;
  execFileSync(process.execPath, ['scripts/package.mjs'], { cwd: ROOT, stdio: 'inherit' });
}

function findBrowser(): string | undefined {
  if (process.env.CHROMIUM !== undefined) return process.env.CHROMIUM;
  return (process.env.PATH ?? '')
    .split(delimiter)
    .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function installPackages(packages: readonly string[]): void {
  if (process.getuid?.() !== 0 || !isDebian()) {
    throw new Error(
      `The tests in a window need ${packages.join(' and ')}: install them with your system's packages ` +
        '(for a browser elsewhere, set CHROMIUM to its path).',
    );
  }
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args: string[]) => spawnSync('apt-get', args, { stdio: 'inherit', env: environment });
  apt('update', '--quiet=2');
  if (apt('install', '--yes', '--quiet=2', '--no-install-recommends', ...packages).status !== 0) {
    throw new Error(`apt-get could not install ${packages.join(' and ')}.`);
  }
}

function isDebian(): boolean {
  return (
    existsSync('/etc/os-release') && /^ID(_LIKE)?=.*debian/m.test(readFileSync('/etc/os-release', 'utf8'))
  );
}
