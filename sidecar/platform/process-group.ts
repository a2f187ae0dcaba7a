import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { sleep } from './clock.ts';
import { isAlive } from './processes.ts';

export interface GroupOptions {
  cwd: string;
  /** The whole environment. */
  env: Readonly<Record<string, string>>;
  output: Writable;
  timeoutMs: number;
  signal: AbortSignal;
  /** The group's id, before anything else happens: kept, it can be ended after a crash. */
  started?: (pid: number) => void;
}

/** How the leader of the group ended. */
export type GroupEnd =
  | { kind: 'exited'; code: number }
  | { kind: 'killed'; signal: string }
  | { kind: 'timed-out' }
  | { kind: 'cancelled' }
  | { kind: 'not-started'; message: string };

/** Runs a shell command in a process group of its own, and leaves none of the group behind. */
export async function runGroup(command: string, options: GroupOptions): Promise<GroupEnd> {
  const child = spawn('/bin/sh', ['-c', command], {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) options.started?.(child.pid);
  child.stdout?.pipe(options.output, { end: false });
  child.stderr?.pipe(options.output, { end: false });
  let ended: GroupEnd | undefined;
  const stop = (end: GroupEnd) => {
    ended ??= end;
    if (child.pid !== undefined) void endGroup(child.pid);
  };
  const timer = setTimeout(() => stop({ kind: 'timed-out' }), options.timeoutMs);
  const cancel = () => stop({ kind: 'cancelled' });
  if (options.signal.aborted) cancel();
  options.signal.addEventListener('abort', cancel, { once: true });
  try {
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
    const natural = await exitOf(child);
    if (child.pid !== undefined) {
      await endGroup(child.pid);
      // Output is complete only now: what the leader left behind may have held the pipes open.
      await closed;
    }
    return ended ?? natural;
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener('abort', cancel);
  }
}

function exitOf(child: ChildProcess): Promise<GroupEnd> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ kind: 'not-started', message: error.message }));
    child.once('exit', (code, signal) =>
      resolve(code === null ? { kind: 'killed', signal: signal ?? 'unknown' } : { kind: 'exited', code }),
    );
  });
}

/** Asks a process group to end, and after two seconds makes it. Resolves when none of it is left. */
export async function endGroup(group: number): Promise<void> {
  if (!signalGroup(group, 'SIGTERM')) return;
  for (let waited = 0; waited < 2_000 && isAlive(-group); waited += 20) await sleep(20);
  signalGroup(group, 'SIGKILL');
}

function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    // ESRCH: there is no such group (any more).
    return false;
  }
}
