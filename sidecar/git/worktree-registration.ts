import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join, resolve as resolvePath } from 'node:path';
import { readTextFile } from '../platform/regular-file.ts';

/** Folder → private git folder, as written down. */
export function registrations(commonDir: string): Map<string, string> {
  const parent = join(commonDir, 'worktrees');
  const names = existsSync(parent) ? readdirSync(parent) : [];
  return new Map(
    names.flatMap((name) => {
      const admin = join(parent, name);
      const dotGit = readAdminFile(join(admin, 'gitdir'));
      return dotGit === undefined ? [] : [[dirname(resolvePath(admin, dotGit)), admin]];
    }),
  );
}

/** The private git folder that git keeps for a worktree at `folder`, whether or not that still exists. */
export function registrationOf(commonDir: string, folder: string): string | undefined {
  // The folder itself may be gone, or reached over a symbolic link.
  const real = realpathOr(folder);
  const names = [folder, real, join(realpathOr(dirname(real)), basename(folder))];
  for (const [at, admin] of registrations(commonDir)) if (names.includes(at)) return admin;
  return undefined;
}

/** Forgets one worktree; `git worktree prune` would forget those of others too. */
export async function removeRegistration(admin: string): Promise<void> {
  await rm(admin, { recursive: true, force: true });
  try {
    await rmdir(dirname(admin));
  } catch {
    // Others are registered; git removes the folder with the last one, as we do.
  }
}

/** The text of a file in a private git folder, without the newline at its end; undefined when it cannot be read. */
export function readAdminFile(file: string): string | undefined {
  try {
    return readTextFile(file).replace(/\n$/, '');
  } catch {
    return undefined;
  }
}

/** With symbolic links resolved, where there is something. */
export function realpathOr(path: string): string {
  try {
    // At every look at every session: a single call, where the other one asks the system for each part of the path.
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
