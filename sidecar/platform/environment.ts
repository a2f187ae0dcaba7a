/** Environment variables of a process, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Variables of the editor or of an agent that started us and must not reach an agent: an inherited
 * `CLAUDE_CODE_CHILD_SESSION` turns transcripts off, `NODE_OPTIONS` breaks agents that are Node programs,
 * and a `GIT_DIR` sends git to another repository.
 */
const FOREIGN =
  /^(VSCODE_.*|ELECTRON_.*|NODE_OPTIONS|CLAUDECODE|CLAUDE_CODE_(CHILD_SESSION|SESSION_ID|ENTRYPOINT|SSE_PORT|EXECPATH|TMPDIR)|CLAUDE_PID|CLAUDE_SESSION_ID|CLAUDE_PROJECT_DIR|FAIRLEAD_(?!HOME$).*|GIT_(?!SSL_|AUTHOR_|COMMITTER_|CONFIG_GLOBAL$|CONFIG_SYSTEM$|CONFIG_NOSYSTEM$|SSH|PAGER$|EDITOR$).*)$/;

/** `environment` without what belongs to the process that started us, and without unset entries. */
export function cleanEnvironment(environment: Environment): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && !FOREIGN.test(name)) clean[name] = value;
  }
  return clean;
}
