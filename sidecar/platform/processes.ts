import { readFileSync } from 'node:fs';

export interface RunOptions {
  cwd?: string;
  /** The whole environment of the child; nothing of ours is added. */
  env: Readonly<Record<string, string>>;
  input?: string | Uint8Array;
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Most bytes kept of each stream; more makes the run fail as `infrastructure`. Default 64 MiB. */
  maxBytes?: number;
}

/** How a child ended. Exactly one of `exitCode`, `signal`, `failure` tells why. */
export interface RunResult {
  /** 0–255, or undefined when the child was killed or never started. */
  exitCode: number | undefined;
  signal: string | undefined;
  /** Set when there is no exit to judge by. */
  failure: 'not-found' | 'timed-out' | 'cancelled' | 'too-much-output' | 'not-started' | undefined;
  stdout: Buffer;
  stderr: string;
}

/** Child processes come in through here, so that fault tests can own them. */
export interface Processes {
  /** Runs to the end. Never throws for what the child did. */
  run(command: string, args: readonly string[], options: RunOptions): Promise<RunResult>;
}

export const systemProcesses: Processes = {
  async run(command, args, options) {
    // At first use: a daemon answers before it has run anything.
    const { execa } = await import('execa');
    const result = await execa(command, args, {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: options.env,
      extendEnv: false,
      encoding: 'buffer',
      reject: false,
      stripFinalNewline: false,
      maxBuffer: options.maxBytes ?? 64 * 1024 * 1024,
      ...(options.input === undefined ? { stdin: 'ignore' as const } : { input: options.input }),
      ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs }),
      ...(options.signal === undefined ? {} : { cancelSignal: options.signal }),
      forceKillAfterDelay: 2_000,
    });
    return {
      exitCode: result.exitCode,
      signal: result.signal,
      failure: failureOf(result),
      stdout: Buffer.from(result.stdout ?? []),
      stderr: Buffer.from(result.stderr ?? []).toString('utf8'),
    };
  },
};

function failureOf(result: {
  failed: boolean;
  timedOut: boolean;
  isCanceled: boolean;
  isMaxBuffer: boolean;
  exitCode?: number | undefined;
  signal?: string | undefined;
  code?: string | undefined;
}): RunResult['failure'] {
  if (result.timedOut) return 'timed-out';
  if (result.isCanceled) return 'cancelled';
  if (result.isMaxBuffer) return 'too-much-output';
  if (result.exitCode !== undefined || result.signal !== undefined) return undefined;
  return result.code === 'ENOENT' ? 'not-found' : 'not-started';
}

/** Whether a process with this id exists. One that belongs to somebody else (EPERM) does. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Changes at every boot of the machine; undefined where the system does not tell. Source: proc(5) `random/boot_id`. */
export function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}
