import type { Git } from './git.ts';
import { decodePath, splitNul } from './names.ts';

/** One line of `git worktree list`. */
export interface ListedWorktree {
  /** Absolute, as git has it written down. */
  path: string;
  /** Undefined for a bare repository and before the first commit. */
  head: string | undefined;
  /** Short name; undefined when detached (also in the middle of a rebase) or bare. */
  branch: string | undefined;
  bare: boolean;
  /** The reason given, '' for none; undefined when it is not locked. */
  locked: string | undefined;
  /** Why `git worktree prune` would drop it; undefined when it would not. */
  prunable: string | undefined;
}

/** All worktrees, the main one (or the bare repository) first. */
export async function listWorktrees(git: Git): Promise<ListedWorktree[]> {
  return parseWorktrees((await git.run(['worktree', 'list', '--porcelain', '-z'])).stdout);
}

/** Pure: parses `worktree list --porcelain -z`. Source: git-worktree(1), "Porcelain Format". */
export function parseWorktrees(output: Buffer): ListedWorktree[] {
  const worktrees: ListedWorktree[] = [];
  let open: ListedWorktree | undefined;
  for (const field of splitNul(output).map(decodePath)) {
    if (field === '') {
      open = undefined;
      continue;
    }
    const space = field.indexOf(' ');
    const name = space === -1 ? field : field.slice(0, space);
    const value = space === -1 ? '' : field.slice(space + 1);
    if (name === 'worktree') {
      open = {
        path: value,
        head: undefined,
        branch: undefined,
        bare: false,
        locked: undefined,
        prunable: undefined,
      };
      worktrees.push(open);
    } else if (open !== undefined) {
      if (name === 'HEAD') open.head = /^0+$/.test(value) ? undefined : value;
      else if (name === 'branch') open.branch = value.replace(/^refs\/heads\//, '');
      else if (name === 'bare') open.bare = true;
      else if (name === 'locked') open.locked = value;
      else if (name === 'prunable') open.prunable = value;
    }
  }
  return worktrees;
}
