import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What a window of in-host tests finds, as whoever opened it has made it. */
export interface Scene {
  /** Of this module's tests in the window; see `main.ts`. */
  suite: 'repository' | 'elsewhere';
  /** Where the results are to be written. */
  results: string;
  /** Folder below which the window logs. */
  logs: string;
  /** The command line, as a script for a Node. */
  program: string;
  /** A session with changes of every kind. */
  session: { id: string; title: string; worktree: string; start: string };
  /** Files as the session's worktree has them, base64; null for those that it has deleted. */
  work: Record<string, string | null>;
  /** The same at the commit that it started from. */
  started: Record<string, string | null>;
}

/** Variable that names the file with the scene. */
export const SCENE_VARIABLE = 'FAIRLEAD_HOST_SCENE';

export function readScene(): Scene {
  return JSON.parse(readFileSync(process.env[SCENE_VARIABLE] ?? '', 'utf8')) as Scene;
}

/** What the extension has logged in the window that was opened last. */
export function logged({ logs }: Scene): string {
  const files = globSync('**/fairlead.fairlead/Fairlead.log', { cwd: logs }).map((file) => join(logs, file));
  const [newest] = files.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  return newest === undefined ? '' : readFileSync(newest, 'utf8');
}
