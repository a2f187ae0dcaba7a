import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ShowSession } from '../../sidecar/protocol/protocol.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { TestClient } from './client.ts';
import { removeFolder } from './remove-folder.ts';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  cwd?: string;
  env?: Record<string, string>;
  input?: string;
  /** Milliseconds after which the command is killed. Default one minute. */
  timeoutMs?: number;
}

/**
 * The real command line over the built bundle, with a `FAIRLEAD_HOME` of its own. Disposing ends sidecar, ptyhost and
 * every agent, and removes the home.
 */
export class SidecarHarness implements AsyncDisposable {
  readonly home: string;
  readonly environment: Record<string, string>;
  readonly #bundle: string;

  constructor(
    environment: Readonly<Record<string, string>>,
    options: { bundle?: string /** Shared with another harness, which removes it. */; home?: string } = {},
  ) {
    this.home = options.home ?? mkdtempSync(join(tmpdir(), 'fairlead-home-'));
    this.environment = { ...environment, FAIRLEAD_HOME: this.home };
    this.#bundle = options.bundle ?? join(ROOT, 'dist');
  }

  /** The command line of another bundle over the same home. Not to be disposed. */
  withBundle(bundle: string): SidecarHarness {
    return new SidecarHarness(this.environment, { bundle, home: this.home });
  }

  /** The script that `node` runs as the command. */
  get program(): string {
    return join(this.#bundle, 'fairlead.js');
  }

  /** Runs `fairlead ARGS` to its end. */
  run(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [this.program, ...args], {
        cwd: options.cwd ?? this.home,
        env: { ...this.environment, ...options.env },
        stdio: ['pipe', 'pipe', 'pipe'],
        timeout: options.timeoutMs ?? 60_000,
        killSignal: 'SIGKILL',
      });
      let stdout = '';
      let stderr = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      child.stdin.on('error', () => {});
      child.stdin.end(options.input ?? '');
      child.once('error', reject);
      child.once('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
    });
  }

  /** The JSON that `fairlead ARGS --json` prints. Fails the test when the command does. */
  async json<T = unknown>(args: readonly string[], options: CommandOptions = {}): Promise<T> {
    const result = await this.run([...args, '--json'], options);
    if (result.code !== 0) {
      throw new Error(
        `fairlead ${args.join(' ')} ended with ${result.code}: ${result.stderr}\n${this.log()}`,
      );
    }
    return JSON.parse(result.stdout) as T;
  }

  /** The error that `fairlead ARGS --json` reports. Fails the test when the command succeeds. */
  async error(
    args: readonly string[],
    options: CommandOptions = {},
  ): Promise<{ code: string; message: string; hint: string | null; exit: number; data?: unknown }> {
    const result = await this.run([...args, '--json'], options);
    if (result.code === 0) throw new Error(`fairlead ${args.join(' ')} succeeded: ${result.stdout}`);
    return { ...JSON.parse(result.stderr).error, exit: result.code };
  }

  show(session: string): Promise<Session> {
    return this.json<Session>(['show', session]);
  }

  /** Waits until the session is as `wanted` says; fails with the session and the log when it does not come to that. */
  async until(session: string, wanted: (session: Session) => boolean, timeoutMs = 30_000): Promise<Session> {
    const deadline = Date.now() + timeoutMs;
    // A command for each look would take most of a processor.
    using look = await Look.open(this.home, this.environment);
    for (;;) {
      const seen = await look.at(session);
      if (seen === undefined || wanted(seen) || Date.now() > deadline) {
        const now = await this.show(session);
        if (wanted(now)) return now;
        if (Date.now() > deadline) {
          throw new Error(`${session} did not get there: ${JSON.stringify(now, null, 2)}\n${this.log()}`);
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async sidecarPid(): Promise<number> {
    const { pid } = await this.json<{ pid: number }>(['up']);
    return pid;
  }

  /** `kill -9` of the sidecar; gives the pid it had. */
  async killSidecar(): Promise<number> {
    const pid = await this.sidecarPid();
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    return pid;
  }

  async ptyhostPid(): Promise<number | undefined> {
    const status = await this.json<{ ptyhost: { pid: number } | null }>(['status']);
    return status.ptyhost?.pid;
  }

  /** What the daemons wrote, for the message of a test that failed. */
  log(): string {
    const folder = join(this.home, 'logs');
    if (!existsSync(folder)) return '(no log)';
    return readdirSync(folder)
      .filter((name) => /\.(log|out)$/.test(name))
      .map((name) => `--- ${name}\n${readFileSync(join(folder, name), 'utf8').slice(-6_000)}`)
      .join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run(['down', '--all']);
    for (const pid of processesOf(this.home)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended meanwhile.
      }
      await gone(pid);
    }
    removeFolder(this.home);
  }
}

/** Looks at sessions without a command, while the sidecar runs that was there at the beginning. */
class Look implements Disposable {
  #client: TestClient | undefined;

  private constructor(client: TestClient | undefined) {
    this.#client = client;
    client?.socket.once('close', () => this[Symbol.dispose]());
  }

  static async open(home: string, environment: Readonly<Record<string, string>>): Promise<Look> {
    return new Look(await TestClient.connect(home, { environment }).catch(() => undefined));
  }

  /** Undefined where it cannot tell. */
  async at(session: string): Promise<Session | undefined> {
    return this.#client?.request(ShowSession, { session }).catch(() => undefined);
  }

  [Symbol.dispose](): void {
    this.#client?.[Symbol.dispose]();
    this.#client = undefined;
  }
}

/** Waits until no process has this id. */
export async function gone(pid: number): Promise<void> {
  for (let waited = 0; waited < 10_000; waited += 20) {
    if (!existsSync(`/proc/${pid}`)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`process ${pid} does not end`);
}

/** Processes whose environment or command names this home: daemons and what they started. */
export function processesOf(home: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      const read = (file: string) => {
        try {
          return readFileSync(`/proc/${pid}/${file}`, 'latin1');
        } catch {
          return '';
        }
      };
      return read('cmdline').includes(home) || read('environ').includes(`FAIRLEAD_HOME=${home}`);
    });
}
