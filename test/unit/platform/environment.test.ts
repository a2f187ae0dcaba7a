import { describe, expect, it } from 'vitest';
import { cleanEnvironment } from '../../../sidecar/platform/environment.ts';

const some = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 'x']));

describe('a clean environment', () => {
  it('has nothing of the editor, the agent, the daemon or the terminal that it came from', () => {
    const foreign = [
      'VSCODE_PID',
      'ELECTRON_RUN_AS_NODE',
      'NODE_OPTIONS',
      'CLAUDECODE',
      'CLAUDE_CODE_CHILD_SESSION',
      'CLAUDE_CODE_SSE_PORT',
      'FAIRLEAD_SESSION',
      'FAIRLEAD_ASKPASS_TOKEN',
      'GIT_DIR',
      'GIT_INDEX_FILE',
      'GIT_ASKPASS',
      'GIT_CONFIG_COUNT',
      'TERM',
      'TERM_PROGRAM',
      'TMUX',
      'TMUX_PANE',
      'COLUMNS',
      'KITTY_WINDOW_ID',
    ];
    expect(cleanEnvironment(some(foreign))).toEqual({});
  });

  it('keeps what the person set', () => {
    const own = some([
      'PATH',
      'HOME',
      'FAIRLEAD_HOME',
      'CLAUDE_CONFIG_DIR',
      'CLAUDE_CODE_USE_BEDROCK',
      'ANTHROPIC_API_KEY',
      'GIT_SSH_COMMAND',
      'GIT_AUTHOR_NAME',
      'GIT_CONFIG_GLOBAL',
      'SSH_AUTH_SOCK',
      'NODE_EXTRA_CA_CERTS',
      'NO_COLOR',
      'TERMINFO',
      'LINES_OF_CODE',
    ]);
    expect(cleanEnvironment({ ...own, GONE: undefined })).toEqual(own);
  });
});
