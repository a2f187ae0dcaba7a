import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { Application } from '../../e2e/support/application.ts';
import { closeBrowser } from '../../e2e/support/browser.ts';
import type { Workbench } from '../../e2e/support/workbench.ts';
import type { HostAnswers } from '../window-extension/extension.ts';
import { ROW_WATCH } from './row-watch.ts';

const SOURCE = resolve(import.meta.dirname, '../window-extension');

/** The trees of a window: Fairlead's in the side bar, the peer's in the panel. */
export type Tree = 'fleet' | 'peer';

/** A window of a real VS Code with the packaged extension and, beside it, one that answers a benchmark from inside. */
export class BenchWindow implements AsyncDisposable {
  readonly app: Application;
  readonly window: Workbench;
  readonly #extension: string;
  readonly #portFile: string;

  private constructor(app: Application, window: Workbench, extension: string, portFile: string) {
    this.app = app;
    this.window = window;
    this.#extension = extension;
    this.#portFile = portFile;
  }

  /** With `onlyByView` Fairlead is activated when its view is opened, and not before. */
  static async open({ onlyByView = false } = {}): Promise<BenchWindow> {
    const portFile = join(tmpdir(), 'bench.port');
    const app = await Application.open({
      smokeTestDriver: true,
      // As people have it.
      complete: true,
      env: { FAIRLEAD_BENCH_PORT_FILE: portFile },
      settings: { 'fairlead.notifications': false, 'fairlead.openTerminalOnStart': false },
    });
    const extension = join(app.world.repository.root, 'bench-extension');
    mkdirSync(extension);
    cpSync(join(SOURCE, 'package.json'), join(extension, 'package.json'));
    await build({
      entryPoints: [join(SOURCE, 'extension.ts')],
      outfile: join(extension, 'extension.js'),
      bundle: true,
      platform: 'node',
      format: 'cjs',
      external: ['vscode'],
      logLevel: 'warning',
    });
    const window = await app.window();
    if (onlyByView) activateOnlyByView(app);
    return new BenchWindow(app, window, extension, portFile);
  }

  /** Loads the window anew, with the extension that answers. */
  async load(): Promise<void> {
    rmSync(this.#portFile, { force: true });
    const { server, world } = this.app;
    const remote = `vscode-remote://127.0.0.1:${server.port}`;
    const payload = JSON.stringify([
      ['extensionDevelopmentPath', remote + this.#extension],
      ['extensionTestsPath', `${remote}${this.#extension}/extension.js`],
    ]);
    const query = new URLSearchParams({ folder: world.repository.folder, payload });
    await this.window.page.goto(`${server.url}/?${query}`);
    await until('the extension host answers', () => existsSync(this.#portFile) && this.#port() > 0);
    await this.window.page.evaluate(ROW_WATCH);
  }

  /** Asks the extension that answers. */
  async ask<Path extends keyof HostAnswers>(
    path: Path,
    sessions?: readonly Session[],
  ): Promise<HostAnswers[Path]> {
    const response = await fetch(`http://127.0.0.1:${this.#port()}${path}`, {
      method: 'POST',
      body: JSON.stringify(sessions ?? []),
    });
    return (await response.json()) as HostAnswers[Path];
  }

  /** Forgets what {@link firstRow} and {@link longestFrame} have seen so far. */
  async watchRows(): Promise<void> {
    await this.window.page.evaluate('rowWatch.begin()');
  }

  /**
   * Waits until a row of `tree` is drawn whose words hold `text`; gives when that was for the first time since the rows
   * are watched, in milliseconds since the epoch.
   */
  async firstRow(tree: Tree, text: string): Promise<number> {
    const ask = `rowWatch.firstAt(${JSON.stringify(tree)}, ${JSON.stringify(text)})`;
    const at = await this.window.page.waitForFunction(ask, undefined, { polling: 50, timeout: 60_000 });
    return Number(await at.jsonValue());
  }

  /** The longest time between two frames since the rows are watched, in milliseconds. */
  async longestFrame(): Promise<number> {
    return this.window.page.evaluate<number>('rowWatch.longestFrame');
  }

  /** How often rows were drawn since they are watched. */
  async drawings(): Promise<number> {
    return this.window.page.evaluate<number>('rowWatch.changes.length');
  }

  /** The words of the rows of a tree that are on the screen, from above; without the times in them, which pass. */
  async rows(tree: Tree): Promise<string[]> {
    const rows = await this.window.page.evaluate<string[]>(`rowWatch.rows(${JSON.stringify(tree)})`);
    return rows.map((row) => row.replace(/\b\d+[smhd]\b/g, '…'));
  }

  #port(): number {
    return Number(readFileSync(this.#portFile, 'utf8'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // What answers is broken off with the window, which says so in its console.
    this.window.page.removeAllListeners('console').removeAllListeners('pageerror');
    this.window.errors.length = 0;
    try {
      await this.app[Symbol.asyncDispose]();
    } finally {
      await closeBrowser();
      rmSync(this.#portFile, { force: true });
    }
  }
}

/** From the next window on. */
function activateOnlyByView({ server }: Application): void {
  const [manifest] = globSync(join(server.folder, 'extensions/fairlead.fairlead-*/package.json'));
  if (manifest === undefined) throw new Error('The extension is not installed.');
  const { activationEvents, ...rest } = JSON.parse(readFileSync(manifest, 'utf8'));
  const events = (activationEvents as string[]).filter((event) => event !== 'onStartupFinished');
  writeFileSync(manifest, JSON.stringify({ ...rest, activationEvents: events }));
  // The server keeps the manifests that it has read for as long as this file is the same.
  utimesSync(join(server.folder, 'extensions/extensions.json'), new Date(), new Date());
}

/** Waits until `isSo`. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
