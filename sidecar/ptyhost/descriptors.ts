import { closeSync, openSync, readdirSync } from 'node:fs';

/**
 * Runs `fork` while every file descriptor number up to the highest open one is in use.
 *
 * The prebuilt node-pty marks descriptors of a forked child close-on-exec one number after the other and stops at the
 * first free one past 15 (`pty_close_inherited_fds`; built against a libc without close_range). The masters of other
 * terminals lie behind such gaps sooner or later, and a program that inherits one keeps that terminal alive.
 */
export function withoutDescriptorGaps<T>(fork: () => T): T {
  const fillers: number[] = [];
  try {
    const highest = highestDescriptor();
    try {
      // open(2) gives the lowest free number.
      for (let last = -1; last < highest; last = fillers.at(-1) ?? highest)
        fillers.push(openSync('/dev/null', 'r'));
    } catch {
      // No more descriptors: those above stay as they are, which is what would have happened anyway.
    }
    return fork();
  } finally {
    for (const filler of fillers) closeSync(filler);
  }
}

function highestDescriptor(): number {
  try {
    return Math.max(...readdirSync('/proc/self/fd').map(Number));
  } catch {
    return -1; // macOS: node-pty spawns there with POSIX_SPAWN_CLOEXEC_DEFAULT.
  }
}
