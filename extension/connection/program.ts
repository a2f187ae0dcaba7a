import { type ChildProcess, execFile } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { ExtensionError } from '../failure.ts';

export interface ProgramOptions {
  /** Folder with the bundles: `fairlead.js` and what it starts. */
  bundles: string;
  /** The person's setting; empty for the editor's own Node. */
  nodePath(): string;
  environment: Readonly<Record<string, string | undefined>>;
  /** Where the socket was the last time. */
  remembered(): string | undefined;
  remember(socket: string): void;
  log(line: string): void;
}

/** How long `fairlead up` may take on a machine that is very busy, in milliseconds. */
const START_WITHIN_MS = 60_000;

/**
 * The sidecar's program, as it came with this extension. A sidecar that runs is reached over the socket that it had
 * the last time; else `fairlead up` finds, installs, starts or replaces it, by the same rules as on the command line.
 */
export class SidecarProgram {
  readonly #options: ProgramOptions;
  #starting: ChildProcess | undefined;

  constructor(options: ProgramOptions) {
    this.#options = options;
  }

  /** A connected socket. @throws ExtensionError as `fairlead up` says it, `daemon.spawn-failed` */
  async connect(): Promise<Socket> {
    const known = this.#options.remembered();
    const socket = known === undefined ? undefined : await tryConnect(known);
    if (socket !== undefined) return socket;
    return this.start();
  }

  /** Has `fairlead up` start the sidecar, or replace an older one that is idle, and connects. */
  async start(): Promise<Socket> {
    const path = await this.#up();
    this.#options.remember(path);
    const socket = await tryConnect(path);
    if (socket !== undefined) return socket;
    throw new ExtensionError('daemon.spawn-failed', 'The sidecar ended as soon as it had started.', {
      hint: 'Run "Fairlead: Doctor" and look at its log.',
    });
  }

  /** Where the sidecar was the last time. */
  get remembered(): string | undefined {
    return this.#options.remembered();
  }

  /** Whether somebody listens where the sidecar was the last time. */
  async isRunning(): Promise<boolean> {
    const known = this.#options.remembered();
    const socket = known === undefined ? undefined : await tryConnect(known);
    socket?.destroy();
    return socket !== undefined;
  }

  dispose(): void {
    this.#starting?.kill();
  }

  #up(): Promise<string> {
    const { bundles, environment, log } = this.#options;
    const nodePath = this.#options.nodePath();
    const node = nodePath === '' ? process.execPath : nodePath;
    const began = Date.now();
    return new Promise((resolve, reject) => {
      this.#starting = execFile(
        node,
        [join(bundles, 'fairlead.js'), 'up', '--json'],
        {
          cwd: '/',
          timeout: START_WITHIN_MS,
          windowsHide: true,
          env: {
            ...environment,
            ELECTRON_RUN_AS_NODE: '1',
            ...(nodePath === '' ? {} : { FAIRLEAD_NODE_PATH: nodePath }),
          },
        },
        (error, stdout, stderr) => {
          const socket = field(stdout, 'socket');
          if (error === null && socket !== undefined) {
            log(`The sidecar was there after ${Date.now() - began} ms.`);
            return resolve(socket);
          }
          reject(startFailure(error, stderr, node));
        },
      );
    });
  }
}

/** Undefined when nobody listens there. */
export function tryConnect(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
    socket.once('error', () => resolve(undefined));
  });
}

function field(json: string, name: string): string | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const found = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
    return typeof found === 'string' ? found : undefined;
  } catch {
    return undefined;
  }
}

/** `fairlead up --json` prints its error as JSON; what never came so far is the Node's or the system's. */
function startFailure(error: Error | null, stderr: string, node: string): ExtensionError {
  for (const line of stderr.split('\n')) {
    try {
      const { error: told } = JSON.parse(line) as {
        error?: { code?: string; message?: string; hint?: string };
      };
      if (told?.code !== undefined && told.message !== undefined) {
        return new ExtensionError(told.code, told.message, { hint: told.hint ?? undefined });
      }
    } catch {
      // Not the line.
    }
  }
  const said = stderr.trim() || (error?.message ?? 'it said nothing');
  return new ExtensionError('daemon.spawn-failed', `The sidecar could not be started with ${node}: ${said}`, {
    hint: 'Set fairlead.nodePath to a Node.js of version 22.13 or newer.',
  });
}
