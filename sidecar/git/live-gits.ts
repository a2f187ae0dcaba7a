import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { sep } from 'node:path';
import type { Children } from './children.ts';

/** Ids of processes that may hold a lock in a folder. */
export interface LiveGits {
  /** Children that were given the marker. */
  own: number[];
  /** These, and any git that stands in the folder. */
  all: number[];
}

/**
 * Who may hold a lock in `folder`: children that were given `marker` as `NAME=VALUE` in their environment, and any
 * git that stands in the folder. A lock that is there while nobody is listed was left behind.
 * Sources: proc(5); elsewhere lsof(8), which tells where a git stands but not its environment.
 */
export async function liveGits(
  folder: string,
  marker: string,
  tools: { children: Children; environment: Readonly<Record<string, string>> },
): Promise<LiveGits> {
  return process.platform === 'linux' ? fromProc(folder, marker) : fromLsof(folder, tools);
}

function fromProc(folder: string, marker: string): LiveGits {
  const live: LiveGits = { own: [], all: [] };
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      const command = readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
      // A zombie has no environment left, and no lock that it could still release.
      const environment = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
      const isOwn = environment.includes(marker);
      if (isOwn) live.own.push(pid);
      if (isOwn || (command.startsWith('git') && isBelow(readlinkSync(`/proc/${pid}/cwd`), folder))) {
        live.all.push(pid);
      }
    } catch {
      // Ended meanwhile, or somebody else's.
    }
  }
  return live;
}

async function fromLsof(
  folder: string,
  tools: { children: Children; environment: Readonly<Record<string, string>> },
): Promise<LiveGits> {
  const result = await tools.children.run('lsof', ['-a', '-c', 'git', '-d', 'cwd', '-Fpn'], {
    env: tools.environment,
    timeoutMs: 10_000,
  });
  if (result.failure !== undefined) throw new Error(`lsof: ${result.failure}`);
  let pid = 0;
  const live: LiveGits = { own: [], all: [] };
  for (const line of result.stdout.toString('utf8').split('\n')) {
    if (line.startsWith('p')) pid = Number(line.slice(1));
    else if (line.startsWith('n') && isBelow(line.slice(1), folder)) live.all.push(pid);
  }
  return live;
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + sep);
}
