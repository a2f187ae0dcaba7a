import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { sleep } from './clock.ts';

export interface GroupOptions {
  cwd: string;
  /** The whole environment. */
  env: Readonly<Record<string, string>>;
  /** Open file that takes what the group prints: no pipe that a stray process could hold open. */
  output: number;
  timeoutMs: number;
  signal: AbortSignal;
}

/** How the leader of the group ended. */
export type GroupEnd =
  | { kind: 'exited' /** 0–255. */; code: number }
  | { kind: 'killed' /** As `SIGSEGV`. */; signal: string }
  | { kind: 'timed-out' }
  | { kind: 'cancelled' }
  | { kind: 'not-started'; message: string };

/** How long a group that was asked to end may take, in milliseconds. */
const KILL_AFTER = 2_000;

/**
 * Runs a shell command in a process group of its own, and leaves none of the group behind: not when it ends, and not
 * when this process is killed.
 */
export async function runGroup(command: string, options: GroupOptions): Promise<GroupEnd> {
  const { cwd, env, output, timeoutMs, signal } = options;
  if (signal.aborted) return { kind: 'cancelled' };
  // First: a command may end us before the next process is started.
  const watchdog = watch();
  const child = spawn('/bin/sh', ['-c', command], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', output, output],
  });
  const exit = exitOf(child);
  const { pid } = child;
  if (pid === undefined) {
    watchdog.kill('SIGKILL');
    return exit;
  }
  watchdog.stdin?.write(`${pid}\n`);
  const stopped = new Promise<GroupEnd>((resolve) => {
    const timer = setTimeout(() => resolve({ kind: 'timed-out' }), timeoutMs);
    const cancel = () => resolve({ kind: 'cancelled' });
    signal.addEventListener('abort', cancel, { once: true });
    void exit.finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
    });
  });
  try {
    return await Promise.race([exit, stopped]);
  } finally {
    await endGroup(pid);
    watchdog.kill('SIGKILL');
  }
}

/** A process that kills the group whose id it is told, when we are gone: then the pipe that it reads from ends. */
function watch(): ChildProcess {
  const script = 'read -r group; read -r _; [ -n "$group" ] && kill -s KILL -- "-$group"';
  const watchdog = spawn('/bin/sh', ['-c', script], {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without it the group would outlive our death, no more.
  watchdog.on('error', () => {});
  watchdog.stdin?.on('error', () => {});
  return watchdog;
}

function exitOf(child: ChildProcess): Promise<GroupEnd> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ kind: 'not-started', message: error.message }));
    child.once('exit', (code, signal) => {
      const by = signal ?? signalOf(code ?? 0);
      resolve(by === undefined ? { kind: 'exited', code: code ?? 0 } : { kind: 'killed', signal: by });
    });
  });
}

/** A shell ends with 128 + N when signal N ended its command. Source: POSIX.1-2017, XCU 2.8.2. */
function signalOf(code: number): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
}

/** Asks a process group to end, and after two seconds makes it. Resolves when none of it runs any more. */
async function endGroup(group: number): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!signalGroup(group, signal)) return;
    for (let waited = 0; waited < KILL_AFTER; waited += 20) {
      if (!isRunning(group)) return;
      await sleep(20);
    }
  }
}

function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    // ESRCH: there is no such group (any more).
    return false;
  }
}

/** Whether a process of the group runs; the dead whom nobody has asked after do not count. Source: proc(5), `stat`. */
function isRunning(group: number): boolean {
  if (!signalGroup(group, 0)) return false;
  if (process.platform !== 'linux') return true;
  return readdirSync('/proc').some((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const [state, , processGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(processGroup) === group && state !== 'Z' && state !== 'X';
    } catch {
      // Ended meanwhile.
      return false;
    }
  });
}
