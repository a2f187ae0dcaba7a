import { type Dirent, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Root of the CLI's files in an environment: `CLAUDE_CONFIG_DIR`, else `~/.claude`. Undefined without a home. */
export function claudeConfigDir(
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (environment.CLAUDE_CONFIG_DIR) return environment.CLAUDE_CONFIG_DIR;
  return environment.HOME ? join(environment.HOME, '.claude') : undefined;
}

/**
 * The transcript of a conversation: `projects/<folder>/<session id>.jsonl`, whatever the folder is called, because
 * its name is made from a path in a way that loses letters and changes between versions. The most recently
 * written one when there are several. Undefined before the first line is written.
 */
export function findTranscript(configDir: string, agentSessionId: string): string | undefined {
  let found: { path: string; mtimeMs: number } | undefined;
  for (const folder of entries(join(configDir, 'projects'))) {
    if (!folder.isDirectory()) continue;
    const path = join(configDir, 'projects', folder.name, `${agentSessionId}.jsonl`);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isFile() && (found === undefined || stat.mtimeMs > found.mtimeMs)) {
      found = { path, mtimeMs: stat.mtimeMs };
    }
  }
  return found?.path;
}

/** Transcripts of the subagents of the conversation at `transcript`: `agent-*.jsonl` anywhere below `<session id>/subagents`. */
export function findSubagentTranscripts(transcript: string): string[] {
  const found: string[] = [];
  const visit = (folder: string) => {
    for (const entry of entries(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile() && /^agent-.+\.jsonl$/.test(entry.name)) found.push(path);
    }
  };
  visit(join(transcript.replace(/\.jsonl$/, ''), 'subagents'));
  return found.sort();
}

function entries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}
