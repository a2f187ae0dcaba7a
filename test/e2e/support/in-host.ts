import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import type { HostResult } from '../host/cases.ts';
import { SCENE_VARIABLE, type Scene } from '../host/scene.ts';
import { Desk } from './window.ts';
import { runInHost } from './workbench.ts';

const SOURCE = resolve(import.meta.dirname, '../host/main.ts');
/** How long a window with its tests may take, in milliseconds. */
const WITHIN_MS = 180_000;

/** A desk whose windows run tests inside their extension host, beside the packaged extension. */
export class HostDesk implements AsyncDisposable {
  readonly desk: Desk;
  readonly #folder: string;

  private constructor(desk: Desk, folder: string) {
    this.desk = desk;
    this.#folder = folder;
  }

  static async open(): Promise<HostDesk> {
    const scene = join(process.env.TMPDIR ?? '/tmp', `fairlead-scene-${process.pid}-${Date.now()}.json`);
    const desk = await Desk.open({ smokeTestDriver: true, env: { [SCENE_VARIABLE]: scene } });
    const folder = join(desk.world.repository.root, 'in-host');
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
    return new HostDesk(desk, folder);
  }

  /** Opens a window on `folder` and gives what became of each test in it. */
  async run(folder: string, scene: Omit<Scene, 'results' | 'logs' | 'program'>): Promise<HostResult[]> {
    const { server, world } = this.desk;
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
    await this.desk[Symbol.asyncDispose]();
  }
}
