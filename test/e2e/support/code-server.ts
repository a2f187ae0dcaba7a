import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { removeFolder } from '../../support/remove-folder.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** Of the installed server; absent until it is installed. */
export const SERVER = join(
  ROOT,
  'test/e2e/code-server/node_modules/code-server/lib/vscode/out/server-main.js',
);

/** The extensions that come with VS Code. */
const BUILT_IN = join(SERVER, '../../extensions');

/** What makes a workbench quiet: no welcome, no telemetry, no other extension's news. */
const QUIET = {
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.welcomePage.walkthroughs.openOnInstall': false,
  'chat.disableAIFeatures': true,
  'chat.commandCenter.enabled': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.enableExperiments': false,
  // Nothing is seen half there.
  'workbench.reduceMotion': 'on',
  'git.openRepositoryInParentFolders': 'never',
  'scm.alwaysShowRepositories': true,
  'remote.autoForwardPorts': false,
  'terminal.integrated.gpuAcceleration': 'off',
  'terminal.integrated.confirmOnExit': 'never',
  'terminal.integrated.confirmOnKill': 'never',
  // Else it opens a shell of its own in a panel that is empty after a reload, if it comes to that before the extension.
  'terminal.integrated.hideOnStartup': 'whenEmpty',
  // Left maximized, it would be so in the next test of the same window.
  'workbench.panel.opensMaximized': 'never',
  'workbench.editor.enablePreview': false,
  'editor.accessibilitySupport': 'off',
};

export interface CodeServerOptions {
  /** Of the person: what agents start in. */
  environment: Readonly<Record<string, string>>;
  /** On top of what keeps the workbench quiet. */
  settings?: Readonly<Record<string, unknown>>;
  /** Those of the machine that serves: a setting of a machine is not taken from the person's. */
  machineSettings?: Readonly<Record<string, unknown>>;
  /** Whether Workspace Trust is asked for, as in an editor that was just installed. Default false. */
  trust?: boolean;
  /** Other packages to install beside the extension. */
  beside?: readonly string[];
  /** What a browser must know to be let in; without one everybody on this machine is. */
  token?: string;
  /** For tests inside the extension host. */
  smokeTestDriver?: boolean;
  /**
   * Whether it has the extensions of VS Code itself that no test needs: debuggers, Copilot, sign-ins, task runners. They
   * are a fifth of what it takes to load a window. Default false.
   */
  complete?: boolean;
}

/** A VS Code server with the packaged extension in it, and nothing else of anybody's. */
export class CodeServer implements AsyncDisposable {
  readonly folder: string;
  readonly port: number;
  readonly #options: CodeServerOptions;
  #process: ChildProcess | undefined;

  private constructor(folder: string, port: number, options: CodeServerOptions) {
    this.folder = folder;
    this.port = port;
    this.#options = options;
  }

  /** Installs `vsix` and serves. */
  static async start(vsix: string, options: CodeServerOptions): Promise<CodeServer> {
    if (!existsSync(SERVER))
      throw new Error(`code-server is not installed: npm ci --prefix test/e2e/code-server`);
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-e2e-'));
    const server = new CodeServer(folder, await freePort(), options);
    mkdirSync(join(folder, 'data/User'), { recursive: true });
    server.settings({});
    mkdirSync(join(folder, 'data/Machine'));
    writeFileSync(join(folder, 'data/Machine/settings.json'), JSON.stringify(options.machineSettings ?? {}));
    if (options.complete !== true) linkNeeded(join(folder, 'built-in'));
    const installs = [vsix, ...(options.beside ?? [])].flatMap((each) => ['--install-extension', each]);
    execFileSync(process.execPath, [SERVER, ...installs, '--force', ...server.#folders()], {
      env: server.#environment(),
      stdio: 'pipe',
    });
    await server.serve();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Where a browser finds the workbench on a folder. */
  addressOf(folder: string): string {
    const { token } = this.#options;
    const query = new URLSearchParams({ ...(token === undefined ? {} : { tkn: token }), folder });
    return `${this.url}/?${query}`;
  }

  /** Everything that server and extension host wrote. */
  get log(): string {
    return readFileSync(join(this.folder, 'server.log'), 'utf8');
  }

  /** Replaces the person's settings, beside those that keep the workbench quiet. */
  settings(settings: Readonly<Record<string, unknown>>): void {
    const all = { ...QUIET, ...this.#options.settings, ...settings };
    writeFileSync(join(this.folder, 'data/User/settings.json'), JSON.stringify(all, null, 2));
  }

  /** Whether a text that is not saved was put by, which VS Code does a second after the last key. */
  hasBackup(text: string): boolean {
    const data = join(this.folder, 'data/User');
    return readdirSync(data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /[\\/]Backups([\\/]|$)/.test(entry.parentPath))
      .some(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8').includes(text));
  }

  async serve(): Promise<void> {
    const { token } = this.#options;
    const out = openSync(join(this.folder, 'server.log'), 'a');
    this.#process = spawn(
      process.execPath,
      [
        SERVER,
        '--host',
        '127.0.0.1',
        '--port',
        String(this.port),
        ...(token === undefined ? ['--without-connection-token'] : ['--connection-token', token]),
        '--accept-server-license-terms',
        '--telemetry-level',
        'off',
        ...(this.#options.trust === true ? [] : ['--disable-workspace-trust']),
        ...(this.#options.smokeTestDriver === true ? ['--enable-smoke-test-driver'] : []),
        ...this.#folders(),
      ],
      { env: this.#environment(), stdio: ['ignore', out, out], detached: true },
    );
    for (let waited = 0; ; waited += 50) {
      const answer = await fetch(this.url).catch(() => undefined);
      if (answer !== undefined) return;
      if (waited > 30_000) throw new Error(`code-server does not answer:\n${this.log}`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  /** Ends the server with its extension hosts. */
  async kill(): Promise<void> {
    const { pid } = this.#process ?? {};
    if (pid === undefined) return;
    const ended = new Promise((done) => this.#process?.once('exit', done));
    try {
      // The whole group: an extension host outlives a server that is told to end.
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    removeFolder(this.folder);
  }

  #folders(): string[] {
    const builtIn = ['--builtin-extensions-dir', join(this.folder, 'built-in')];
    return [
      ...['--server-data-dir', this.folder, '--extensions-dir', join(this.folder, 'extensions')],
      ...(this.#options.complete === true ? [] : builtIn),
    ];
  }

  #environment(): Record<string, string> {
    return { ...this.#options.environment };
  }
}

/**
 * Links the built-in extensions that have no program, or one for the browser: the web workbench has a list of its own, in
 * which it would miss them. And git, which Source Control is about.
 */
function linkNeeded(folder: string): void {
  mkdirSync(folder);
  for (const name of readdirSync(BUILT_IN)) {
    const manifest = join(BUILT_IN, name, 'package.json');
    // What they share is no extension.
    const { main, browser }: { main?: string; browser?: string } = existsSync(manifest)
      ? JSON.parse(readFileSync(manifest, 'utf8'))
      : {};
    if (main !== undefined && browser === undefined && name !== 'git') continue;
    symlinkSync(join(BUILT_IN, name), join(folder, name));
  }
}

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address !== null ? done(address.port) : fail(new Error('no port')),
      );
    });
  });
}
