import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readTextFile } from '../../platform/regular-file.ts';
import * as z from '../../protocol/zod.ts';

const Config = z.looseObject({
  projects: z.catch(
    z.record(
      z.string(),
      z.looseObject({ hasTrustDialogAccepted: z.catch(z.optional(z.boolean()), undefined) }),
    ),
    {},
  ),
});

/**
 * Whether the CLI starts in `checkout`, the root of a main checkout, and in its worktrees wherever they are,
 * without asking for trust. Its rule, seen with 2.1.332: the answer is kept for the real path of the main checkout,
 * also when it was given in a worktree; folders above the repository do not count. Nothing is written.
 */
export function isTrusted(configDir: string, checkout: string): boolean {
  const path = realPath(checkout);
  return configFiles(configDir).some((file) => projectsOf(file)[path]?.hasTrustDialogAccepted === true);
}

/** Inside the folder that `CLAUDE_CONFIG_DIR` names; beside it when the folder is the default `~/.claude`. */
function configFiles(configDir: string): string[] {
  const inside = join(configDir, '.claude.json');
  return basename(configDir) === '.claude' ? [inside, join(dirname(configDir), '.claude.json')] : [inside];
}

/** A file that is missing or just being written trusts nothing; asking again does no harm. */
function projectsOf(file: string): z.infer<typeof Config>['projects'] {
  try {
    return Config.parse(JSON.parse(readTextFile(file))).projects;
  } catch {
    return {};
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
