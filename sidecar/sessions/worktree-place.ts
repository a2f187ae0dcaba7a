import { existsSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import type { Repository } from '../git/repository.ts';
import { makeFoldersIn } from '../platform/folders.ts';
import { messageOf } from '../protocol/errors.ts';
import type { SessionContext } from './context.ts';
import { slugOf } from './naming.ts';
import type { RepositoryRecord } from './record.ts';

/** Folder of all worktrees inside a main checkout. */
const INSIDE = join('.fairlead', 'worktrees');

/** Where the worktree of a session goes, absolute. */
export function worktreeFolder(
  context: Pick<SessionContext, 'paths'>,
  known: RepositoryRecord,
  repository: Repository,
  place: 'home' | 'sibling' | 'inside',
  slug: string,
  id: string,
): string {
  // A bare repository has no inside; what stands beside it is the nearest.
  const main = repository.mainCheckout ?? repository.commonDir;
  const name = `${slug}-${id}`;
  if (place === 'inside' && repository.mainCheckout !== undefined) return join(main, INSIDE, name);
  if (place !== 'home') return join(dirname(main), `${basename(main)}.worktrees`, name);
  return join(context.paths.worktrees, `${slugOf(basename(main))}-${known.id}`, name);
}

/** Takes away the folder that held nothing but worktrees, once none is in it or on its way there. */
export function leavePlace({ table, log }: Pick<SessionContext, 'table' | 'log'>, worktree: string): void {
  const folder = dirname(worktree);
  if (table.list({ archived: false }).some((other) => dirname(other.worktree) === folder)) return;
  try {
    rmdirSync(folder);
  } catch (error) {
    log.debug('folder of worktrees stays', { folder, error: messageOf(error) });
  }
}

/** Worktrees inside the main checkout are not to show there as untracked files. */
export function keepOutOfStatus({ mainCheckout }: Repository, worktree: string): void {
  if (mainCheckout === undefined || dirname(worktree) !== join(mainCheckout, INSIDE)) return;
  const ignore = join(mainCheckout, INSIDE, '.gitignore');
  if (existsSync(ignore)) return;
  makeFoldersIn(mainCheckout, ...INSIDE.split(sep));
  writeFileSync(ignore, '*\n');
}
