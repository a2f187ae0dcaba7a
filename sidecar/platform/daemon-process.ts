import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { FairleadError, messageOf } from '../protocol/errors.ts';
import { sleep } from './clock.ts';
import { withSpawnLock } from './spawn-lock.ts';

/** A daemon that serves one socket, and how to start it when nobody does. */
export interface DaemonProcess {
  /** For messages: `sidecar`, `ptyhost`. */
  name: string;
  socket: string;
  /** Lock file that only whoever starts the daemon holds. */
  lock: string;
  /** Program and arguments; asked for only when a start is due, so that it may install a bundle first. */
  command(): Promise<{ file: string; args: readonly string[]; env: Readonly<Record<string, string>> }>;
  /** File to which the daemon's own stdout and stderr are appended. */
  output: string;
  /** Milliseconds until giving up. Default 15,000. */
  timeoutMs?: number;
}

export interface DaemonConnection {
  socket: Socket;
  /** The daemon was started by this call. */
  started: boolean;
}

const FIRST_POLL_MS = 5;
const LONGEST_POLL_MS = 200;
const LOG_TAIL = 2_000;

/** Connects, or gives undefined when nobody listens there. @throws what connect(2) says otherwise */
export function tryConnect(path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const onError = (error: NodeJS.ErrnoException) => {
      // EAGAIN: the queue of a listening socket is full for the moment. That is no reason to start another daemon.
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(undefined);
      else reject(error);
    };
    socket.once('error', onError);
    socket.once('connect', () => {
      socket.removeListener('error', onError);
      resolve(socket);
    });
  });
}

/**
 * Connects to a daemon; when nobody listens, takes the lock, looks again, removes the dead socket, starts the daemon
 * detached in `/`, and polls ever more slowly until it listens. Of processes that do this at the same time one starts
 * it and all connect to it.
 * @throws FairleadError `daemon.spawn-failed` with the end of what the daemon printed
 */
export async function connectOrStart(daemon: DaemonProcess): Promise<DaemonConnection> {
  const early = async () => {
    const socket = await tryConnect(daemon.socket);
    return socket === undefined ? undefined : { socket, started: false };
  };
  const present = await early();
  if (present !== undefined) return present;
  const signal = AbortSignal.timeout(daemon.timeoutMs ?? 15_000);
  try {
    return await withSpawnLock(
      daemon.lock,
      early,
      async () => (await early()) ?? { socket: await start(daemon, signal), started: true },
      signal,
    );
  } catch (error) {
    if (error instanceof FairleadError) throw error;
    const reason = signal.aborted ? 'it did not listen in time' : messageOf(error);
    throw failed(daemon, reason, error);
  }
}

async function start(daemon: DaemonProcess, signal: AbortSignal): Promise<Socket> {
  const { file, args, env } = await daemon.command();
  rmSync(daemon.socket, { force: true });
  const output = openSync(daemon.output, 'a', 0o600);
  let ended: string | undefined;
  try {
    const child = spawn(file, args, {
      detached: true,
      stdio: ['ignore', output, output],
      cwd: '/',
      env,
      windowsHide: true,
    });
    child.once('error', (error) => {
      ended = messageOf(error);
    });
    child.once('exit', (code, signalName) => {
      ended = `it ended with ${signalName ?? `exit code ${code}`}`;
    });
    child.unref();
  } finally {
    closeSync(output);
  }
  for (let wait = FIRST_POLL_MS; ; wait = Math.min(wait * 1.5, LONGEST_POLL_MS)) {
    await sleep(wait, signal);
    const socket = await tryConnect(daemon.socket);
    if (socket !== undefined) return socket;
    if (ended !== undefined) throw failed(daemon, ended);
  }
}

function failed(daemon: DaemonProcess, reason: string, cause?: unknown): FairleadError {
  const printed = tail(daemon.output);
  return new FairleadError(
    'daemon.spawn-failed',
    `The ${daemon.name} could not be started: ${reason}.${printed}`,
    {
      hint: `Look into ${daemon.output}, or run \`fairlead doctor\`.`,
      ...(cause === undefined ? {} : { cause }),
    },
  );
}

function tail(file: string): string {
  try {
    const text = readFileSync(file, 'utf8').trim().slice(-LOG_TAIL);
    return text === '' ? '' : `\n${text}`;
  } catch {
    return '';
  }
}
