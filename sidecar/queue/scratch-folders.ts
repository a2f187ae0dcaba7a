import { join } from 'node:path';
import type { Paths } from '../platform/paths.ts';

/** Where the queue makes worktrees of its own, one an entry, each removed after its use. */
export interface ScratchFolders {
  checks: string;
  merges: string;
}

export function scratchFolders(paths: Paths): ScratchFolders {
  return { checks: join(paths.worktrees, '.checks'), merges: join(paths.worktrees, '.merges') };
}
