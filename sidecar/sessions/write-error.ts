import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Repository } from '../git/repository.ts';
import { isBranchLeft } from '../git/worktrees.ts';
import { FairleadError } from '../protocol/errors.ts';
import * as z from '../protocol/zod.ts';
import type { SessionRecord } from './record.ts';

type Planned = Pick<SessionRecord, 'worktree' | 'base_commit'>;

/** What git says when a checkout cannot be written: without the system's reason. Source: entry.c of git 2.39. */
const CHECKOUT_STOPPED = /unable to (write|create) file|could not write|unable to write/i;

/** What git says when a ref, an index or an object cannot be written: without the system's reason, too. Seen with 2.39. */
const REPOSITORY_STOPPED = /couldn't write|could not write|unable to (write|create)|cannot update ref/i;

/** A branch and a worktree take some blocks; with less than this free they are what failed, in bytes. */
const REPOSITORY_NEEDS = 256 * 1024;

const Said = z.object({ stderr: z.string() });

/** Why a worktree could not be made: `error` itself, unless the disk is what is wrong and nothing is left. */
export async function writeError(error: unknown, planned: Planned, repository: Repository): Promise<unknown> {
  if (isBranchLeft(error)) return error;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? cause.code : undefined;
    if (code === 'disk.full') return cause;
    if (code === 'ENOSPC' || code === 'EDQUOT') return diskFull(planned, '', error);
    if (code === 'EROFS' || code === 'EACCES') {
      return new FairleadError('worktree.failed', `The worktree ${planned.worktree} cannot be written.`, {
        hint: 'Make the folder above it writable, or set [worktree] place in config.toml.',
        cause: error,
      });
    }
  }
  const said = error instanceof FairleadError ? Said.safeParse(error.data).data?.stderr : undefined;
  if (said === undefined) return error;
  if (REPOSITORY_STOPPED.test(said)) {
    const free = await freeAt(repository.commonDir);
    if (free < REPOSITORY_NEEDS) {
      return new FairleadError(
        'disk.full',
        `The disk is full: ${repository.commonDir} could not be written. ${megabytes(free)} are free.`,
        { hint: 'Free some space and try again.', cause: error },
      );
    }
  }
  if (!CHECKOUT_STOPPED.test(said)) return error;
  const [needed, free] = await Promise.all([
    sizeOf(repository, planned.base_commit),
    freeAt(planned.worktree),
  ]);
  if (free >= needed) return error;
  return diskFull(planned, ` It needs ${megabytes(needed)}; ${megabytes(free)} are free.`, error);
}

function diskFull({ worktree }: Planned, more: string, cause: unknown): FairleadError {
  return new FairleadError('disk.full', `The disk is full: ${worktree} could not be made.${more}`, {
    hint: 'Free some space, or set [worktree] place in config.toml, and try again.',
    cause,
  });
}

/** Bytes of all files of a commit. */
async function sizeOf({ git }: Repository, commit: string): Promise<number> {
  const sizes = await git.lines(['ls-tree', '-r', '--format=%(objectsize)', commit]);
  return sizes.reduce((sum, size) => sum + (Number(size) || 0), 0);
}

/** Bytes that may be written at `path`, or at the nearest folder above that exists. */
async function freeAt(path: string): Promise<number> {
  if (!existsSync(path) && path !== dirname(path)) return freeAt(dirname(path));
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
