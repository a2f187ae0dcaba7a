import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CommandTerminal } from '../support/command-terminal.ts';
import { processesNaming } from '../support/processes.ts';
import { removeFolder } from '../support/remove-folder.ts';
import { PICTURES } from './support/application.ts';
import { closeBrowser } from './support/browser.ts';
import { vsix } from './support/vsix.ts';
import { Workbench } from './support/workbench.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const NOTHING_OF_ANOTHER_EDITOR = { VSCODE_IPC_HOOK_CLI: '', DISPLAY: '', WAYLAND_DISPLAY: '' };

describe('npm start', () => {
  it('installs the package into the VS Code of the desktop, opens the demo in it and plays', async () => {
    const place = newPlace();
    const record = join(place, 'record');
    const bin = join(place, 'bin');
    mkdirSync(bin);
    // In place of the application, which a machine without a screen cannot have: it notes what it is asked, and its
    // window is a client of the sidecar, as the extension is.
    writeFileSync(
      join(bin, 'code'),
      `#!${process.execPath}
const { appendFileSync } = require('node:fs');
const { spawn } = require('node:child_process');
const args = process.argv.slice(2);
appendFileSync('${record}', JSON.stringify({ args, display: process.env.DISPLAY }) + '\\n');
if (!args.includes('--install-extension')) {
  const client = ['${join(ROOT, 'dist/fairlead.js')}', 'events', '--follow', '--json'];
  const data = args[args.indexOf('--user-data-dir') + 1];
  const window = "require('node:child_process').spawn(process.execPath, process.argv.slice(2), { stdio: 'ignore' })";
  spawn(process.execPath, ['-e', window, data, ...client], { detached: true, stdio: 'ignore' }).unref();
}
`,
      { mode: 0o755 },
    );
    using terminal = start(place, { DISPLAY: ':99', PATH: [bin, process.env.PATH].join(delimiter) });
    await terminal.shows('All of it is in the window', 150_000);
    const folder = demoFolder(place);
    const data = [
      '--user-data-dir',
      join(folder, 'code'),
      '--extensions-dir',
      join(folder, 'code/extensions'),
    ];
    const installs = [vsix(), join(folder, 'window-extension.vsix')].flatMap((each) => [
      '--install-extension',
      each,
    ]);
    const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    const opens = ['--new-window', '--disable-workspace-trust', join(folder, 'harbour')];
    const calls = readFileSync(record, 'utf8').trimEnd().split('\n');
    expect(calls.map((call) => JSON.parse(call))).toEqual([
      { args: [...data, ...installs, '--force'], display: ':99' },
      { args: [...data, ...asRoot, ...opens], display: ':99' },
    ]);
    expect(terminal.output).not.toMatch(/code-server|No repository is named/);
    expect(landings(terminal)).toBe(3);

    terminal.type('\x03');
    await terminal.ended;
    await expect.poll(() => processesNaming(folder)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
  });

  it('opens code-server where there is no desktop, and the main job plays in its window', async () => {
    const place = newPlace();
    using terminal = start(place, {});
    await terminal.shows(/Open http\S+/, 150_000);
    const [, address = ''] = /Open (?:\x1b\[\d+m)*(http[^\s\x1b]+)/.exec(terminal.output) ?? [];
    onTestFinished(closeBrowser);
    {
      await using window = await Workbench.open(address, undefined);
      // Nobody opens the view: it is in front by itself.
      await window.fleet.row(/CHANGELOG/).waitFor();
      await terminal.shows('All of it is in the window', 150_000);
      const landed = async () => (await window.fleet.labels()).filter((label) => /, landed/.test(label));
      await expect.poll(async () => (await landed()).length).toBe(3);
      mkdirSync(PICTURES, { recursive: true });
      await window.page.screenshot({ path: join(PICTURES, 'npm start.png') });
      expect(landings(terminal)).toBe(3);
    }
    const folder = demoFolder(place);
    terminal.type('\x03');
    await terminal.ended;
    await expect.poll(() => processesNaming(place)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
  });
});

/** `npm start` as a person at a high terminal runs it, everything temporary in `place`. */
function start(place: string, env: Readonly<Record<string, string>>): CommandTerminal {
  const { PATH = '', HOME = '' } = process.env;
  const person = { PATH, HOME, TMPDIR: place, ...NOTHING_OF_ANOTHER_EDITOR, ...env };
  const set = Object.entries(person).filter(([, value]) => value !== '');
  return new CommandTerminal('npm', ['start'], Object.fromEntries(set), { cwd: ROOT, rows: 400, cols: 200 });
}

function newPlace(): string {
  const place = mkdtempSync(join(tmpdir(), 'fairlead-start-'));
  onTestFinished(() => removeFolder(place));
  return place;
}

function demoFolder(place: string): string {
  const [name] = readdirSync(place).filter((each) => each.startsWith('fairlead-demo-'));
  if (name === undefined) throw new Error('there is no folder of a demo');
  return join(place, name);
}

/** How many landings the graph of `main` shows. */
function landings({ text }: CommandTerminal): number {
  return text.split('\n').filter((line) => /^\*.*\bMerge '/.test(line)).length;
}
