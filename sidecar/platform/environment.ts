/** Environment variables of a process, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Variables of the editor or of an agent that started us and must not reach an agent: an inherited
 * `CLAUDE_CODE_CHILD_SESSION` turns transcripts off, `NODE_OPTIONS` breaks agents that are Node programs,
 * and a `GIT_DIR` sends git to another repository.
 */
const FOREIGN =
  /^(VSCODE_.*|ELECTRON_.*|NODE_OPTIONS|CLAUDECODE|CLAUDE_CODE_(CHILD_SESSION|SESSION_ID|ENTRYPOINT|SSE_PORT|EXECPATH|TMPDIR)|CLAUDE_PID|CLAUDE_SESSION_ID|CLAUDE_PROJECT_DIR|FAIRLEAD_(?!HOME$).*|GIT_(?!SSL_|AUTHOR_|COMMITTER_|CONFIG_GLOBAL$|CONFIG_SYSTEM$|CONFIG_NOSYSTEM$|SSH|PAGER$|EDITOR$).*)$/;

/**
 * Variables that describe the terminal of whoever started us: an agent has one of its own, of another kind. With an
 * inherited `TMUX` Claude Code neither reports its status (OSC 7501) nor writes plain escape sequences.
 */
const TERMINAL =
  /^(TERM|COLORTERM|TERM_PROGRAM(_VERSION)?|TERM_SESSION_ID|TERMINAL_EMULATOR|LC_TERMINAL(_VERSION)?|TMUX(_PANE|_TMPDIR)?|STY|WINDOW|WINDOWID|COLUMNS|LINES|VTE_VERSION|WT_SESSION|WT_PROFILE_ID|(KITTY|ITERM|WEZTERM|GHOSTTY|ALACRITTY|ZELLIJ|KONSOLE)_.*)$/;

/** `environment` without what belongs to the process and to the terminal that started us, and without unset entries. */
export function cleanEnvironment(environment: Environment): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && !FOREIGN.test(name) && !TERMINAL.test(name)) clean[name] = value;
  }
  return clean;
}
