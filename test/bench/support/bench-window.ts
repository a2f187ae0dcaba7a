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
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { Desk } from '../../e2e/support/window.ts';
import { closeBrowser, type Workbench } from '../../e2e/support/workbench.ts';
import type { HostAnswers } from '../window-extension/extension.ts';

const SOURCE = resolve(import.meta.dirname, '../window-extension');

/** A window of a real VS Code with the packaged extension and, beside it, one that answers a benchmark from inside. */
export class BenchWindow implements AsyncDisposable {
  readonly desk: Desk;
  readonly window: Workbench;
  readonly #extension: string;
  readonly #portFile: string;

  private constructor(desk: Desk, window: Workbench, extension: string, portFile: string) {
    this.desk = desk;
    this.window = window;
    this.#extension = extension;
    this.#portFile = portFile;
  }

  /** With `onlyByView` Fairlead is activated when its view is opened, and not before. */
  static async open({ onlyByView = false } = {}): Promise<BenchWindow> {
    const folder = process.env.TMPDIR ?? '/tmp';
    const portFile = join(folder, `fairlead-bench-${process.pid}.port`);
    const desk = await Desk.open({
      smokeTestDriver: true,
      env: { FAIRLEAD_BENCH_PORT_FILE: portFile },
      settings: { 'fairlead.notifications': false, 'fairlead.openTerminalOnStart': false },
    });
    const extension = join(desk.world.repository.root, 'bench-extension');
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
    const window = await desk.window();
    if (onlyByView) activateOnlyByView(desk);
    return new BenchWindow(desk, window, extension, portFile);
  }

  /** Loads the window anew, with the extension that answers. */
  async load(): Promise<void> {
    rmSync(this.#portFile, { force: true });
    const { server, world } = this.desk;
    const remote = `vscode-remote://127.0.0.1:${server.port}`;
    const payload = JSON.stringify([
      ['extensionDevelopmentPath', remote + this.#extension],
      ['extensionTestsPath', `${remote}${this.#extension}/extension.js`],
    ]);
    const query = new URLSearchParams({ folder: world.repository.folder, payload });
    await this.window.page.goto(`${server.url}/?${query}`);
    await until('the extension host answers', () => existsSync(this.#portFile) && this.#port() > 0);
  }

  /** Asks the extension that answers. */
  async ask<Path extends keyof HostAnswers>(path: Path): Promise<HostAnswers[Path]> {
    const response = await fetch(`http://127.0.0.1:${this.#port()}${path}`);
    return (await response.json()) as HostAnswers[Path];
  }

  /** Has the trees note when a row changes; see {@link changes}. */
  async watchRows(): Promise<void> {
    await this.window.page.evaluate(WATCH_ROWS);
  }

  /** Changes of rows that were seen since: the row's words, and when, in milliseconds since the epoch. */
  async changes(): Promise<{ text: string; at: number }[]> {
    return this.window.page.evaluate<{ text: string; at: number }[]>('globalThis.benchChanges');
  }

  /** The longest time between two frames since the rows are watched or it was asked last, in milliseconds. */
  async longestFrame(): Promise<number> {
    return this.window.page.evaluate<number>(
      '(() => { const l = globalThis.benchLongest; globalThis.benchLongest = 0; return l; })()',
    );
  }

  #port(): number {
    return Number(readFileSync(this.#portFile, 'utf8'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // What answers is broken off with the window, which says so in its console.
    this.window.page.removeAllListeners('console').removeAllListeners('pageerror');
    this.window.errors.length = 0;
    try {
      await this.desk[Symbol.asyncDispose]();
    } finally {
      await closeBrowser();
      rmSync(this.#portFile, { force: true });
    }
  }
}

/** From the next window on. */
function activateOnlyByView({ server }: Desk): void {
  const [manifest] = globSync(join(server.folder, 'extensions/fairlead.fairlead-*/package.json'));
  if (manifest === undefined) throw new Error('The extension is not installed.');
  const { activationEvents, ...rest } = JSON.parse(readFileSync(manifest, 'utf8'));
  const events = (activationEvents as string[]).filter((event) => event !== 'onStartupFinished');
  writeFileSync(manifest, JSON.stringify({ ...rest, activationEvents: events }));
  // The server keeps the manifests that it has read for as long as this file is the same.
  utimesSync(join(server.folder, 'extensions/extensions.json'), new Date(), new Date());
}

/** In the page, as text: the types of a browser are not those of this program. */
const WATCH_ROWS = `(() => {
  globalThis.benchChanges = [];
  globalThis.benchLongest = 0;
  const note = (node) => {
    const element = node.nodeType === 1 ? node : node.parentElement;
    const row = element?.closest?.('.customview-tree .monaco-list-row');
    if (row) globalThis.benchChanges.push({ text: row.getAttribute('aria-label') + ' ' + row.textContent, at: Date.now() });
  };
  new MutationObserver((records) => {
    for (const record of records) {
      note(record.target);
      for (const added of record.addedNodes) note(added);
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ['aria-label', 'class'] });
  let last = performance.now();
  const frame = (now) => {
    globalThis.benchLongest = Math.max(globalThis.benchLongest, now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})()`;

/** Waits until `isSo`. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
