import { type ChildProcess, execFile } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { ExtensionError, failureOf } from './failure.ts';

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
/** Between two questions where the sidecar would be, when the first was not answered, in milliseconds. */
const ASK_AGAIN_MS = 60_000;

/**
 * The sidecar's program, as it came with this extension. A sidecar that runs is reached over the socket that it had
 * the last time; else `fairlead up` finds, installs, starts or replaces it, by the same rules as on the command line.
 */
export class SidecarProgram {
  readonly #options: ProgramOptions;
  readonly #running = new Set<ChildProcess>();
  /** Where the sidecar is or would be, once the program has told it. */
  #told: string | undefined;
  #askedAt = 0;

  constructor(options: ProgramOptions) {
    this.#options = options;
  }

  /**
   * A connected socket.
   * @throws ExtensionError as `fairlead up` says it, `daemon.spawn-failed`; without `mayStart` `daemon.not-running`
   */
  async connect(mayStart = true): Promise<Socket> {
    const known = this.#told ?? this.#options.remembered();
    const socket = known === undefined ? undefined : await tryConnect(known);
    if (socket !== undefined) return socket;
    if (mayStart) return this.start();
    throw new ExtensionError('daemon.not-running', 'The sidecar does not run.');
  }

  /** Has `fairlead up` start the sidecar, or replace an older one that is idle, and connects. */
  async start(): Promise<Socket> {
    const began = Date.now();
    const path = textIn(await this.#run(['up'], START_WITHIN_MS), 'socket');
    if (path === undefined) {
      throw new ExtensionError('daemon.spawn-failed', 'The sidecar did not say where it is.', {
        hint: 'Run "Fairlead: Doctor" and look at its log.',
      });
    }
    this.#options.log(`The sidecar was there after ${Date.now() - began} ms.`);
    this.#options.remember(path);
    this.#told = path;
    const socket = await tryConnect(path);
    if (socket !== undefined) return socket;
    throw new ExtensionError('daemon.lost', 'The sidecar ended as soon as it had started.', {
      hint: 'Run "Fairlead: Doctor" and look at its log.',
    });
  }

  /**
   * Has `fairlead down` end the sidecar, which first ends what it has under way, of whatever build and protocol it is.
   * @throws ExtensionError as `fairlead down` says it, `daemon.not-answering` with the pid in its data
   */
  async end(): Promise<void> {
    await this.#run(['down']);
  }

  /** Where the sidecar writes its log, whether or not it runs. @throws ExtensionError `node.missing`, `daemon.spawn-failed` */
  async logFile(): Promise<string> {
    const file = textIn(await this.#run(['logs', '--path'], START_WITHIN_MS), 'file');
    if (file === undefined) throw new ExtensionError('internal', 'Nothing says where the log is.');
    return file;
  }

  /** Where the sidecar was the last time. */
  get remembered(): string | undefined {
    return this.#options.remembered();
  }

  /** Whether somebody listens where the sidecar is or would be. */
  async isRunning(): Promise<boolean> {
    const known = this.#told ?? this.#options.remembered() ?? (await this.#ask());
    const socket = known === undefined ? undefined : await tryConnect(known);
    socket?.destroy();
    return socket !== undefined;
  }

  /** Has `fairlead status` say where the sidecar would be. Where that fails it is not run again and again. */
  async #ask(): Promise<string | undefined> {
    if (Date.now() - this.#askedAt < ASK_AGAIN_MS) return undefined;
    this.#askedAt = Date.now();
    this.#told = await this.#run(['status'], START_WITHIN_MS).then(
      (json) => textIn(json, 'socket'),
      () => undefined,
    );
    return this.#told;
  }

  dispose(): void {
    for (const child of this.#running) child.kill();
  }

  /** What `fairlead COMMAND --json` prints, run by the first Node that there is. */
  async #run(command: readonly string[], timeout = 0): Promise<string> {
    const setting = this.#options.nodePath();
    const nodes = [...(setting === '' ? [] : [setting]), process.execPath, 'node'];
    let first: unknown;
    for (const node of nodes) {
      try {
        return await this.#runWith(node, command, timeout);
      } catch (error) {
        first ??= error;
        if (failureOf(error).code !== 'node.missing') throw error;
        this.#options.log(failureOf(error).message);
      }
    }
    throw first;
  }

  #runWith(node: string, command: readonly string[], timeout: number): Promise<string> {
    const { bundles, environment } = this.#options;
    const setting = this.#options.nodePath();
    return new Promise((resolve, reject) => {
      const child = execFile(
        node,
        [join(bundles, 'fairlead.js'), ...command, '--json'],
        {
          cwd: '/',
          timeout,
          windowsHide: true,
          env: {
            ...environment,
            ELECTRON_RUN_AS_NODE: '1',
            ...(setting === '' ? {} : { FAIRLEAD_NODE_PATH: setting }),
          },
        },
        (error, stdout, stderr) => {
          this.#running.delete(child);
          if (error === null) resolve(stdout);
          else reject(startFailure(error, stderr, node));
        },
      );
      this.#running.add(child);
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

/** What the output of a command says of `name`; undefined when that is no text. */
function textIn(json: string, name: string): string | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const found = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
    return typeof found === 'string' ? found : undefined;
  } catch {
    return undefined;
  }
}

/** What a command prints with `--json` when it fails; what never came so far is the Node's or the system's. */
function startFailure(error: Error, stderr: string, node: string): ExtensionError {
  for (const line of stderr.split('\n')) {
    try {
      const { error: told } = JSON.parse(line) as {
        error?: { code?: string; message?: string; hint?: string; data?: unknown };
      };
      if (told?.code !== undefined && told.message !== undefined) {
        return new ExtensionError(told.code, told.message, { hint: told.hint ?? undefined, data: told.data });
      }
    } catch {
      // Not the line.
    }
  }
  const said = stderr.trim() || error.message;
  const isMissing = 'code' in error && (error.code === 'ENOENT' || error.code === 'EACCES');
  return new ExtensionError(
    isMissing ? 'node.missing' : 'daemon.spawn-failed',
    `The sidecar could not be started with ${node}: ${said}`,
    { hint: 'Set fairlead.nodePath to a Node.js of version 22.13 or newer.' },
  );
}
