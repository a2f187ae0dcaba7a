import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setLoginPath } from '../../support/login-shell.ts';
import { World, type WorldOptions } from '../../support/world.ts';
import { CodeServer, type CodeServerOptions } from './code-server.ts';
import { vsix } from './vsix.ts';
import { Workbench } from './workbench.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** Where pictures of a run go; looked at by people, never compared. */
export const PICTURES = join(ROOT, 'test/.output/pictures');

export type ApplicationOptions = WorldOptions & Omit<CodeServerOptions, 'environment'>;

/**
 * A person with an editor: a {@link World}, a VS Code server with the packaged extension, and its windows. Disposing
 * ends everything, and fails when a window that is open by then showed an error in its console.
 */
export class Application implements AsyncDisposable {
  readonly world: World;
  readonly server: CodeServer;
  readonly #windows: Workbench[] = [];

  private constructor(world: World, server: CodeServer) {
    this.world = world;
    this.server = server;
  }

  static async open(options: ApplicationOptions = {}): Promise<Application> {
    const { settings, machineSettings, trust, smokeTestDriver, complete, ...rest } = options;
    const world = await World.open(rest);
    // As the workbench is, unless it is told to be dark.
    world.claude.paint('light');
    const { environment } = world.fairlead;
    setLoginPath(join(world.repository.root, 'home'), environment.PATH);
    const server = await CodeServer.start(vsix(), {
      environment: { ...environment, SHELL: '/bin/bash', NODE_EXTRA_CA_CERTS: '' },
      ...(settings === undefined ? {} : { settings }),
      ...(machineSettings === undefined ? {} : { machineSettings }),
      ...(trust === undefined ? {} : { trust }),
      ...(smokeTestDriver === undefined ? {} : { smokeTestDriver }),
      ...(complete === undefined ? {} : { complete }),
    });
    return new Application(world, server);
  }

  /** Opens a window on the repository, or on another folder; null for none. */
  async window(
    folder: string | null = this.world.repository.folder,
    size?: { width: number; height: number },
  ): Promise<Workbench> {
    const window = await Workbench.open(this.server.url, folder ?? undefined, size);
    this.#windows.push(window);
    return window;
  }

  /** Keeps a picture of a window, once what VS Code shows for a moment only has gone. */
  async picture(window: Workbench, name: string): Promise<void> {
    mkdirSync(PICTURES, { recursive: true });
    await window.page.locator('.terminal-resize-overlay.visible').waitFor({ state: 'hidden' });
    await window.page.screenshot({ path: join(PICTURES, `${name}.png`), animations: 'disabled' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using stack = new AsyncDisposableStack();
    stack.use(this.world);
    stack.use(this.server);
    for (const window of this.#windows) stack.use(window);
  }
}
