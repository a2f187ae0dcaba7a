import { readFileSync } from 'node:fs';

/** Resident memory of a process in bytes; null where the system does not tell. Source: proc(5) `statm`, 4 KiB pages. */
export function memoryOf(pid: number): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096;
  } catch {
    return null;
  }
}
