import { spawn } from 'node:child_process';
import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { basename } from 'node:path';
import { asFairleadError, FairleadError, isErrorCode, messageOf } from '../protocol/errors.ts';
import { notAnswering } from '../protocol/not-answering.ts';
import * as z from '../protocol/zod.ts';
import { sleep } from './clock.ts';
import { lockHolder } from './lock-holder.ts';
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
/** The file for what daemons print is begun anew beyond this size, in bytes. */
const MAX_OUTPUT = 1024 * 1024;

/** Exit code of a daemon that finds another one serving its home (EX_TEMPFAIL of sysexits.h). */
export const EXIT_TAKEN = 75;

/** The line that a daemon which cannot start leaves for whoever started it. */
const LastWords = z.object({
  error: z.object({
    code: z.string().check(z.refine(isErrorCode)),
    message: z.string(),
    hint: z.optional(z.string()),
  }),
});

/** Says why this daemon cannot start, so that {@link connectOrStart} can throw it on. */
export function printLastWords(error: unknown): void {
  const { code, message, hint } = asFairleadError(error);
  const line = `${JSON.stringify({ error: { code, message, ...(hint === undefined ? {} : { hint }) } })}\n`;
  // At once: the process is about to end.
  writeSync(2, line);
}

/** What a socket says behind which nobody listens, or nobody any more. */
const GONE = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET'];

/**
 * Connects, or gives undefined when nobody listens there.
 * @throws FairleadError `daemon.not-answering`; what connect(2) says otherwise
 */
export function tryConnect(path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const onError = (error: NodeJS.ErrnoException) => {
      // Reset: it died with this connection in its queue.
      if (GONE.includes(error.code ?? '')) resolve(undefined);
      // Its queue is full: hundreds have connected that it did not accept. That is no reason to start another daemon.
      else if (error.code === 'EAGAIN') reject(unanswered(path));
      else reject(error);
    };
    socket.once('error', onError);
    socket.once('connect', () => {
      socket.removeListener('error', onError);
      resolve(socket);
    });
  });
}

/** A daemon's socket and lock differ in their ends only; see `Paths`. */
function unanswered(socket: string): FairleadError {
  const name = basename(socket, '.sock') === 'ptyhost' ? 'ptyhost' : 'sidecar';
  return notAnswering(name, lockHolder(socket.replace(/\.sock$/, '.lock')));
}

/**
 * Connects to a daemon; when nobody listens, takes the lock, looks again, starts the daemon detached in `/`, and polls
 * ever more slowly until it listens. Of processes that do this at the same time one starts it and all connect to it.
 * A dead socket is left for the daemon to remove: it alone holds the lock that says that no other one serves.
 * @throws FairleadError what the daemon says it cannot start for; else `daemon.spawn-failed` with the end of what it
 * printed
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
    if (error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) {
      throw new FairleadError('disk.full', `The disk is full: the ${daemon.name} could not be started.`, {
        hint: 'Free some space and try again.',
        cause: error,
      });
    }
    const reason = signal.aborted ? 'it did not listen in time' : messageOf(error);
    throw failed(daemon, reason, { cause: error });
  }
}

async function start(daemon: DaemonProcess, signal: AbortSignal): Promise<Socket> {
  const command = await daemon.command();
  for (let wait = FIRST_POLL_MS; ; wait = longer(wait)) {
    const socket = await startOnce(daemon, command, signal);
    if (socket !== undefined) return socket;
    // One that ends, or one that is still on its way, holds the home: it will answer or be gone soon.
    await sleep(wait, signal);
    const there = await tryConnect(daemon.socket);
    if (there !== undefined) return there;
  }
}

/** Undefined when the daemon found another one in its place. */
async function startOnce(
  daemon: DaemonProcess,
  { file, args, env }: Awaited<ReturnType<DaemonProcess['command']>>,
  signal: AbortSignal,
): Promise<Socket | undefined> {
  const { output, from } = openOutput(daemon.output);
  let ended: { how: string; code: number | null } | undefined;
  try {
    const child = spawn(file, args, {
      detached: true,
      stdio: ['ignore', output, output],
      cwd: '/',
      env,
      windowsHide: true,
    });
    child.once('error', (error) => {
      ended = { how: messageOf(error), code: null };
    });
    child.once('exit', (code, signalName) => {
      ended = { how: `it ended with ${signalName ?? `exit code ${code}`}`, code };
    });
    child.unref();
  } finally {
    closeSync(output);
  }
  for (let wait = FIRST_POLL_MS; ; wait = longer(wait)) {
    await sleep(wait, signal);
    const socket = await tryConnect(daemon.socket);
    if (socket !== undefined) return socket;
    if (ended?.code === EXIT_TAKEN) return undefined;
    if (ended !== undefined) throw failed(daemon, ended.how, { printed: readFrom(daemon.output, from) });
  }
}

function longer(wait: number): number {
  return Math.min(wait * 1.5, LONGEST_POLL_MS);
}

/** Opens the file to append to, and tells where this daemon's part of it begins. */
function openOutput(file: string): { output: number; from: number } {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const output = openSync(file, size > MAX_OUTPUT ? 'w' : 'a', 0o600);
  return { output, from: size > MAX_OUTPUT ? 0 : size };
}

function failed(
  daemon: DaemonProcess,
  reason: string,
  detail: { printed?: string; cause?: unknown },
): FairleadError {
  const printed = detail.printed ?? '';
  const words = lastWordsOf(printed);
  if (words !== undefined) return words;
  return new FairleadError(
    'daemon.spawn-failed',
    `The ${daemon.name} could not be started: ${reason}.${printed === '' ? '' : `\n${printed.slice(-LOG_TAIL)}`}`,
    {
      hint: `Look into ${daemon.output}, or run \`fairlead doctor\`.`,
      ...(detail.cause === undefined ? {} : { cause: detail.cause }),
    },
  );
}

function lastWordsOf(printed: string): FairleadError | undefined {
  for (const line of printed.split('\n').reverse()) {
    if (!line.startsWith('{')) continue;
    try {
      const { error } = LastWords.parse(JSON.parse(line));
      if (!isErrorCode(error.code)) return undefined;
      return new FairleadError(
        error.code,
        error.message,
        error.hint === undefined ? {} : { hint: error.hint },
      );
    } catch {
      // Something else that looks like JSON.
    }
  }
  return undefined;
}

/** What was printed behind `from`, at most 64 KiB; empty when it cannot be read. */
function readFrom(file: string, from: number): string {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, 'r');
    const bytes = Buffer.alloc(64 * 1024);
    return bytes
      .subarray(0, readSync(descriptor, bytes, 0, bytes.length, from))
      .toString('utf8')
      .trim();
  } catch {
    return '';
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
