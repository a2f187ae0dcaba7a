import { createHash } from 'node:crypto';
import { accessSync, chmodSync, constants, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { FairleadError, messageOf } from '../protocol/errors.ts';

/** Longest path of a unix socket that both Linux (107) and macOS (103) take, in bytes. */
export const MAX_SOCKET_PATH = 103;

/** Every place below the home that Fairlead keeps for one machine. */
export interface Paths {
  home: string;
  database: string;
  run: string;
  sidecarSocket: string;
  ptyhostSocket: string;
  /** Each held by its daemon for as long as that lives. */
  sidecarLock: string;
  ptyhostLock: string;
  spawnLock: string;
  logs: string;
  secrets: string;
  worktrees: string;
  /** Versioned copies of the bundle, one folder a build. */
  versions: string;
  /** Raw output of terminals beyond the rows that are kept parsed. */
  scrollback: string;
}

/**
 * Twelve hex digits that tell machines apart which share a home over the network.
 * Source: `/etc/machine-id` (machine-id(5)); elsewhere the host name.
 */
export function machineId(): string {
  let seed = hostname();
  try {
    seed = readFileSync('/etc/machine-id', 'utf8').trim() || seed;
  } catch {
    // macOS has no such file; the host name has to do.
  }
  return createHash('sha256').update(`fairlead:${seed}`).digest('hex').slice(0, 12);
}

/**
 * Where everything is for an environment. `FAIRLEAD_HOME` replaces `~/.fairlead/<machine id>`; a relative one counts
 * from the current folder. All paths are absolute: daemons run in `/`.
 */
export function pathsFor(environment: Readonly<Record<string, string | undefined>>): Paths {
  const home = resolve(
    environment.FAIRLEAD_HOME || join(environment.HOME || homedir(), '.fairlead', machineId()),
  );
  const run = join(home, 'run');
  return {
    home,
    database: join(home, 'state.db'),
    run,
    sidecarSocket: join(run, 'sidecar.sock'),
    ptyhostSocket: join(run, 'ptyhost.sock'),
    sidecarLock: join(run, 'sidecar.lock'),
    ptyhostLock: join(run, 'ptyhost.lock'),
    spawnLock: join(run, 'spawn.lock'),
    logs: join(home, 'logs'),
    secrets: join(home, 'secrets'),
    worktrees: join(home, 'worktrees'),
    versions: join(home, 'versions'),
    scrollback: join(home, 'run', 'scrollback'),
  };
}

/**
 * Makes the folders, readable by this user alone. Those with sockets, logs and secrets are made so again when they were
 * opened to others; the home itself may be a folder that the person shares on purpose.
 * @throws FairleadError `home.socket-path-too-long`, `home.read-only`, `disk.full`
 */
export function preparePaths(paths: Paths): void {
  requireSocketPath(paths);
  try {
    for (const folder of [paths.home, paths.worktrees, paths.versions]) makeFolder(folder);
    for (const folder of [paths.run, paths.logs, paths.secrets]) {
      makeFolder(folder);
      if ((statSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700);
    }
    accessSync(paths.home, constants.W_OK);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOSPC' || cause.code === 'EDQUOT')) {
      throw new FairleadError('disk.full', `The disk of ${paths.home} is full.`, {
        hint: 'Free some space and try again.',
        cause,
      });
    }
    throw new FairleadError(
      'home.read-only',
      `Fairlead cannot write to ${paths.home} (${messageOf(cause)}).`,
      {
        hint: 'Make the folder writable, or set FAIRLEAD_HOME to one that is.',
        cause,
      },
    );
  }
}

/**
 * Makes a folder and those above it, for this user alone. One by one: `mkdir` with `recursive` tries for ever where a
 * file system says of a folder that it makes that its parent is missing, as /proc does. Seen with Node 24.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) {
    if (!statSync(folder).isDirectory()) throw new Error(`${folder} is no folder`);
    return;
  }
  const above = dirname(folder);
  if (above !== folder) makeFolder(above);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!existsSync(folder)) throw error;
  }
}

/** @throws FairleadError `home.socket-path-too-long` */
export function requireSocketPath(paths: Paths): void {
  const longest = Math.max(Buffer.byteLength(paths.sidecarSocket), Buffer.byteLength(paths.ptyhostSocket));
  if (longest > MAX_SOCKET_PATH) {
    throw new FairleadError(
      'home.socket-path-too-long',
      `The socket path ${paths.ptyhostSocket} has ${longest} bytes; the system takes ${MAX_SOCKET_PATH}.`,
      { hint: 'Set FAIRLEAD_HOME to a folder with a shorter path.' },
    );
  }
}
