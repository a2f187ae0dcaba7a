import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import type { HostResult } from '../host/cases.ts';
import { SCENE_VARIABLE, type Scene } from '../host/scene.ts';
import { Application } from './application.ts';
import { openBrowser } from './browser.ts';

const SOURCE = resolve(import.meta.dirname, '../host/main.ts');
/** How long a window with its tests may take, in milliseconds. */
const WITHIN_MS = 180_000;

/** An application whose windows run tests inside their extension host, beside the packaged extension. */
export class HostApplication implements AsyncDisposable {
  readonly app: Application;
  readonly #folder: string;

  private constructor(app: Application, folder: string) {
    this.app = app;
    this.#folder = folder;
  }

  static async open(): Promise<HostApplication> {
    const scene = join(process.env.TMPDIR ?? '/tmp', `fairlead-scene-${process.pid}-${Date.now()}.json`);
    const app = await Application.open({ smokeTestDriver: true, env: { [SCENE_VARIABLE]: scene } });
    const folder = join(app.world.repository.root, 'in-host');
    mkdirSync(folder);
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({
        name: 'in-host',
        publisher: 'fairlead-test',
        version: '0.0.0',
        engines: { vscode: '*' },
      }),
    );
    await build({
      entryPoints: [SOURCE],
      outfile: join(folder, 'index.js'),
      bundle: true,
      platform: 'node',
      format: 'cjs',
      external: ['vscode'],
      logLevel: 'warning',
    });
    return new HostApplication(app, folder);
  }

  /** Opens a window on `folder` and gives what became of each test in it. */
  async run(folder: string, scene: Omit<Scene, 'results' | 'logs' | 'program'>): Promise<HostResult[]> {
    const { server, world } = this.app;
    const results = join(this.#folder, `${scene.suite}.json`);
    const whole: Scene = {
      ...scene,
      results,
      logs: join(server.folder, 'data/logs'),
      program: world.fairlead.program,
    };
    writeFileSync(world.fairlead.environment[SCENE_VARIABLE] ?? '', JSON.stringify(whole));
    const remote = `vscode-remote://127.0.0.1:${server.port}`;
    const payload = JSON.stringify([
      ['extensionDevelopmentPath', remote + this.#folder],
      ['extensionTestsPath', `${remote}${this.#folder}/index.js`],
    ]);
    const { code, said } = await runInHost(
      `${server.url}/?${new URLSearchParams({ folder, payload })}`,
      WITHIN_MS,
    );
    if (code !== 0) throw new Error(`The tests in the extension host did not end well (${code}):\n${said}`);
    return JSON.parse(readFileSync(results, 'utf8')) as HostResult[];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app[Symbol.asyncDispose]();
  }
}

/**
 * Opens a window that runs tests inside its extension host, and waits for their end: the exit code of the run, and what
 * was written to the host's console. The server has to have the smoke-test driver.
 */
async function runInHost(url: string, withinMs: number): Promise<{ code: number; said: string }> {
  const context = await (await openBrowser()).newContext();
  try {
    const page = await context.newPage();
    const lines: string[] = [];
    const ended = Promise.withResolvers<number>();
    await page.exposeFunction('codeAutomationExit', (code: number) => ended.resolve(code));
    await page.exposeFunction('codeAutomationLog', (_kind: string, args: unknown[]) =>
      lines.push(args.join(' ')),
    );
    const timer = setTimeout(() => ended.reject(new Error(`no end:\n${lines.join('\n')}`)), withinMs);
    await page.goto(url);
    const code = await ended.promise.finally(() => clearTimeout(timer));
    return { code, said: lines.join('\n') };
  } finally {
    await context.close();
  }
}
