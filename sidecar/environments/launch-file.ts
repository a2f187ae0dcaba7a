import { join } from 'node:path';
import { quoteWord } from '../platform/shell.ts';
import { writePrivateFile } from './private-folder.ts';

/** What one start of an agent needs; all of it literal, since nothing else crosses an exec prefix. */
export interface Launch {
  /** Root of the worktree, absolute. */
  worktree: string;
  /** Private git directory of the worktree, absolute. */
  gitDir: string;
  /** The line in `<worktree>/.git`, as it was when the worktree was verified. */
  pointer: string;
  /** The agent's folder below the worktree, empty for its root. */
  folder: string;
  /** Variables to export. */
  environment: Readonly<Record<string, string>>;
  /** Variables to take away. */
  unset: readonly string[];
  argv: readonly string[];
}

/** Exit status of a launch file that found no place to start in. */
export const LAUNCH_REFUSED = 97;

/** Where the launch file of a worktree is: in its private git directory, so that no `git clean` meets it. */
export function launchFile(gitDir: string): string {
  return join(gitDir, 'fairlead', 'launch');
}

/**
 * The script that starts an agent in its worktree and nowhere else: a worktree whose `.git` file is gone or points
 * to another repository is refused, since git would then work in the folder above. Pure.
 */
export function launchScript(launch: Launch): string {
  const inside = launch.folder === '' ? launch.worktree : join(launch.worktree, launch.folder);
  const refuse = (what: string) =>
    `{ printf '%s\\n' ${quoteWord(`Fairlead: ${what}`)} >&2; exit ${LAUNCH_REFUSED}; }`;
  const exports = Object.entries(launch.environment).map(
    ([name, value]) => `export ${name}=${quoteWord(value)}`,
  );
  return [
    '#!/bin/sh',
    '# Made by Fairlead at each start of this session.',
    `cd ${quoteWord(launch.worktree)} 2>/dev/null || ${refuse(`the worktree ${launch.worktree} is gone`)}`,
    'pointer=',
    '[ -f .git ] && IFS= read -r pointer <.git',
    `[ "$pointer" = ${quoteWord(launch.pointer)} ] || ${refuse(`${launch.worktree}/.git does not point to its repository`)}`,
    `cd ${quoteWord(inside)} 2>/dev/null || ${refuse(`the folder ${inside} is gone`)}`,
    ...(launch.unset.length === 0 ? [] : [`unset ${launch.unset.join(' ')}`]),
    ...exports,
    `exec ${launch.argv.map(quoteWord).join(' ')}`,
    '',
  ].join('\n');
}

/**
 * Writes the launch file whole or not at all, readable by this user alone; gives its path.
 * @throws FairleadError `worktree.broken` when a link stands in the way
 */
export function writeLaunchFile(launch: Launch): string {
  const file = launchFile(launch.gitDir);
  writePrivateFile(launch.gitDir, file, launchScript(launch), 0o700);
  return file;
}
