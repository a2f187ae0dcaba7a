import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { Clock } from './clock.ts';
import { isAlive } from './processes.ts';

/** Folder inside an installed bundle with one file for each process that runs from it, named after its pid. */
const RUNNING = 'running';

/** A folder that somebody asked for a moment ago may be about to run: time after which it may go, in milliseconds. */
const YOUNG_MS = 600_000;

/** `<version>-<build>`: the version alone would keep a rebuilt bundle of the same version from being installed. */
export function bundleName(version: string, build: string): string {
  return `${version}-${build}`;
}

/**
 * The folder below `versions` to run a bundle from, copied there unless it is there already. A copy appears whole or
 * not at all; of several that are made at the same time one stays. A bundle that is an installed one stays where it is.
 * @param from the folder that holds `fairlead.js`, `sidecar.js`, `scan-worker.js` and `ptyhost.js`
 */
export function installBundle(from: string, versions: string, name: string, clock: Clock): string {
  if (resolve(dirname(from)) === resolve(versions)) return from;
  const to = join(versions, name);
  if (!isFolder(to)) {
    mkdirSync(versions, { recursive: true, mode: 0o700 });
    const copy = `${to}.${process.pid}.tmp`;
    rmSync(copy, { recursive: true, force: true });
    cpSync(from, copy, { recursive: true });
    try {
      renameSync(copy, to);
    } catch (error) {
      rmSync(copy, { recursive: true, force: true });
      if (!isFolder(to)) throw error;
    }
  }
  const now = clock.now() / 1000;
  utimesSync(to, now, now);
  return to;
}

/** Notes that this process runs from the installed bundle that holds `script`; elsewhere does nothing. */
export function markRunning(script: string, versions: string): void {
  const folder = dirname(resolve(script));
  if (dirname(folder) !== resolve(versions)) return;
  mkdirSync(join(folder, RUNNING), { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, RUNNING, String(process.pid)), '');
}

/**
 * Removes the installed bundles that no process runs from, `keep` and young ones excepted, and copies that were never
 * finished. Returns the names of what went. When in doubt a folder stays: a pid that lives may be another's by now.
 */
export function pruneBundles(versions: string, keep: string, clock: Clock): string[] {
  const removed: string[] = [];
  const commands = runningCommands();
  for (const name of folders(versions)) {
    const folder = join(versions, name);
    const unfinished = /\.(\d+)\.tmp$/.exec(name);
    if (unfinished !== null) {
      if (isAlive(Number(unfinished[1]))) continue;
    } else if (name === basename(keep) || isYoung(folder, clock) || isInUse(folder, commands)) {
      continue;
    }
    // Away first: a process that starts meanwhile finds the whole folder or none.
    const away = join(versions, `${name}.${process.pid}.tmp`);
    try {
      if (unfinished === null) renameSync(folder, away);
      rmSync(unfinished === null ? away : folder, { recursive: true, force: true });
      removed.push(name);
    } catch {
      // Somebody else removes it as well, or the disk is read-only; the next time will do.
    }
  }
  return removed;
}

function isInUse(folder: string, commands: readonly string[]): boolean {
  if (commands.some((command) => command.includes(folder + sep))) return true;
  return folders(join(folder, RUNNING), 'files').some((name) => isAlive(Number(name)));
}

/** Command lines of all processes that can be seen. Source: proc_pid_cmdline(5); empty without /proc. */
function runningCommands(): string[] {
  const commands: string[] = [];
  for (const name of folders('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      commands.push(readFileSync(`/proc/${name}/cmdline`, 'utf8'));
    } catch {
      // It ended meanwhile.
    }
  }
  return commands;
}

function isYoung(folder: string, clock: Clock): boolean {
  const stat = statSync(folder, { throwIfNoEntry: false });
  return stat !== undefined && clock.now() - stat.mtimeMs < YOUNG_MS;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function folders(path: string, kind: 'folders' | 'files' = 'folders'): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() === (kind === 'folders'))
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}
