import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The process that holds a `ProcessLock`; undefined when none does, or the system does not tell. Source: proc_locks(5). */
export function lockHolder(file: string): number | undefined {
  try {
    const { ino } = statSync(file);
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      const match = /\bWRITE\s+(\d+)\s+\w+:\w+:(\d+)\b/.exec(line);
      if (match === null || match[2] !== String(ino)) continue;
      const pid = Number(match[1]);
      // Numbers of files are unique on one file system only.
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dirname(dirname(file)))) return pid;
    }
  } catch {
    // Elsewhere than on Linux nobody tells; nor of a process that has just ended.
  }
  return undefined;
}
