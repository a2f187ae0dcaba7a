import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../../sidecar/platform/programs.ts';
import { messageOf } from '../../sidecar/protocol/errors.ts';
import { CodeServer } from '../../test/e2e/support/code-server.ts';
import { installCodeServer } from '../../test/e2e/support/installation.ts';
import { vsix } from '../../test/e2e/support/vsix.ts';
import { processesNaming } from '../../test/support/processes.ts';
import { packageWindowExtension } from './window-extension.ts';

const run = promisify(execFile);

/** A window of VS Code on the demo, with the packaged extension and nothing of the person's own editor. */
export interface Editor {
  /** Where a browser finds it; undefined for a window that has opened by itself. */
  address: string | undefined;
  close(): Promise<void>;
}

export interface EditorOptions {
  /** Where its own data goes. */
  folder: string;
  repository: string;
  environment: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

const SETTINGS = {
  'workbench.startupEditor': 'none',
  'workbench.welcomePage.walkthroughs.openOnInstall': false,
  'git.openRepositoryInParentFolders': 'never',
  'telemetry.telemetryLevel': 'off',
};

/**
 * The desktop's VS Code when `code` is on PATH and there is a display, else code-server in a browser. Undefined, with
 * the reason told, where neither can be had.
 */
export async function openEditor(options: EditorOptions): Promise<Editor | undefined> {
  const code = desktopCode(options.environment);
  const extensions = () => [vsix(), packageWindowExtension(options.folder)] as const;
  if (code !== undefined) {
    try {
      return await openDesktop(code, extensions(), options);
    } catch (error) {
      console.log(`${code} does not open a window (${messageOf(error)}); trying code-server.`);
    }
  }
  const missing = await installCodeServer(options.signal);
  if (missing !== undefined) {
    console.log(`There is no window: ${missing}\nThe main job plays here alone.`);
    return undefined;
  }
  console.log('Starting code-server…');
  const [extension, ...beside] = extensions();
  const server = await CodeServer.start(extension, {
    beside,
    environment: { ...options.environment, SHELL: options.environment.SHELL ?? '/bin/sh' },
    // Whoever is let in has a shell as the person.
    token: randomBytes(16).toString('hex'),
    // As a person's editor has them, not a test's.
    settings: { 'terminal.integrated.gpuAcceleration': 'auto', 'editor.accessibilitySupport': 'auto' },
    complete: true,
  });
  return {
    address: server.addressOf(options.repository),
    close: () => server[Symbol.asyncDispose](),
  };
}

/** Not the `code` of a remote window's terminal, which has no editor of its own to open. */
function desktopCode(environment: Readonly<Record<string, string>>): string | undefined {
  const { DISPLAY, WAYLAND_DISPLAY, VSCODE_IPC_HOOK_CLI } = process.env;
  const hasDisplay = process.platform === 'darwin' || DISPLAY !== undefined || WAYLAND_DISPLAY !== undefined;
  return hasDisplay && VSCODE_IPC_HOOK_CLI === undefined ? findProgram('code', environment) : undefined;
}

async function openDesktop(
  code: string,
  extensions: readonly string[],
  { folder, repository, environment, signal }: EditorOptions,
): Promise<Editor> {
  const data = join(folder, 'code');
  const own = ['--user-data-dir', data, '--extensions-dir', join(data, 'extensions')];
  mkdirSync(join(data, 'User'), { recursive: true });
  writeFileSync(join(data, 'User/settings.json'), JSON.stringify(SETTINGS));
  // The display is the person's; everything else is the demo's.
  const { DISPLAY, WAYLAND_DISPLAY, XDG_RUNTIME_DIR, XAUTHORITY, DBUS_SESSION_BUS_ADDRESS } = process.env;
  const display = { DISPLAY, WAYLAND_DISPLAY, XDG_RUNTIME_DIR, XAUTHORITY, DBUS_SESSION_BUS_ADDRESS };
  const env = { ...environment, ...display };
  console.log(`Opening ${code}…`);
  const installs = extensions.flatMap((each) => ['--install-extension', each]);
  await run(code, [...own, ...installs, '--force'], { env, signal });
  const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  await run(code, [...own, ...asRoot, '--new-window', '--disable-workspace-trust', repository], {
    env,
    signal,
  });
  return { address: undefined, close: () => endProcessesOf(data) };
}

/** Ends the editor that works with this folder, which is the demo's alone. */
async function endProcessesOf(folder: string): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    for (let waited = 0; waited < 5_000; waited += 100) {
      const pids = (await processesNaming(folder)).map(({ pid }) => pid).filter((pid) => pid !== process.pid);
      if (pids.length === 0) return;
      if (waited === 0) for (const pid of pids) tryKill(pid, signal);
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}

function tryKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}
