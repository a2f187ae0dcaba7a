import { readdirSync, readFileSync } from 'node:fs';
import { isAlive } from '../platform/processes.ts';
import { messageOf } from '../protocol/errors.ts';

/** One process, told apart from a later one with the same id by when it started. */
export interface ProcessMark {
  pid: number;
  /** Clock ticks after boot; undefined where the system does not tell. */
  started: string | undefined;
}

/**
 * The process `leader`, everything in its session and all descendants, also those that made a session of their own.
 * Without /proc (macOS) only the leader: its group is signalled as a whole.
 * Source: proc_pid_stat(5), fields 4 (ppid), 6 (session) and 22 (starttime).
 */
export function processTree(leader: number): ProcessMark[] {
  const all = new Map<number, { parent: number; session: number; started: string }>();
  for (const name of procFolders()) {
    const fields = statFields(name);
    if (fields === undefined) continue;
    all.set(Number(name), {
      parent: Number(fields[1]),
      session: Number(fields[3]),
      started: fields[19] ?? '',
    });
  }
  const members = new Set<number>([leader]);
  for (const [pid, { session }] of all) if (session === leader) members.add(pid);
  // Parents may come after their children in the list: repeat until nothing is added.
  for (let before = -1; before !== members.size; ) {
    before = members.size;
    for (const [pid, { parent }] of all) if (members.has(parent)) members.add(pid);
  }
  return [...members].map((pid) => ({ pid, started: all.get(pid)?.started }));
}

/** Whether it still runs; a zombie does not. */
export function isRunning(mark: ProcessMark): boolean {
  if (mark.started === undefined) return isAlive(mark.pid);
  const fields = statFields(String(mark.pid));
  if (fields === undefined) return false;
  return fields[0] !== 'Z' && fields[0] !== 'X' && fields[19] === mark.started;
}

/** Signals one process, or with a negative id a group. Gives false when there is none, or it is not ours. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))
      return false;
    throw new Error(`Signal ${name} to ${pid} failed: ${messageOf(error)}`, { cause: error });
  }
}

function procFolders(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/** The fields of `/proc/<pid>/stat` from the third (state) on; the second may hold spaces and parentheses. */
function statFields(pid: string): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
