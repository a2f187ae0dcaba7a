import { dirname } from 'node:path';
import { quoteWord } from '../../platform/shell.ts';

/** Events of the CLI that tell what it does. Source: the hooks reference of Claude Code; seen with 2.1.332. */
export const HOOK_EVENTS = [
  'SessionStart',
  'UserPromptSubmit',
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PermissionRequest',
  'PermissionDenied',
  'Notification',
  'Stop',
  'StopFailure',
  'SubagentStop',
  'SessionEnd',
] as const;
export type HookEventName = (typeof HOOK_EVENTS)[number];

/**
 * Events that come with every tool call. Their hooks run beside the agent, which else would wait for a shell twice a
 * call; nothing depends on their exact order. The others end before the agent goes on.
 */
const BESIDE: readonly HookEventName[] = ['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'Notification'];

/** Seconds after which the CLI gives up on the hook. It takes milliseconds; a hung disk must not hang the agent. */
const TIMEOUT_S = 5;

/** Folder of the event files of a session. `gitDir` is the git directory of its worktree, absolute. */
export function eventsFolder(gitDir: string): string {
  return `${gitDir}/fairlead/events`;
}

/**
 * One line of POSIX sh that drops its stdin as a file into `folder`, complete or not at all: written under a
 * name that starts with a dot, then renamed. The process id of the shell makes the name unique among those that
 * run; a name that is taken (the process id came round) is extended.
 *
 * Prints nothing, because the CLI would hand output to the model, and ends with 0 whatever happens, because
 * other codes are shown or even block the agent. The folder is only made when it is missing: a process less; and only
 * in a git directory that is there: of a repository that was moved away nothing comes back.
 */
export function hookCommand(folder: string): string {
  return [
    'umask 077',
    `u=${quoteWord(dirname(folder))}`,
    `d=${quoteWord(folder)}`,
    'n=$$',
    '{ [ -d "$d" ] || mkdir "$u"; [ -d "$d" ] || mkdir "$d"; while [ -e "$d/$n" ]; do n=$n.$$; done; cat >"$d/.$n" && mv "$d/.$n" "$d/$n"; } >/dev/null 2>&1',
    'exit 0',
  ].join('; ');
}

/**
 * The JSON for `--settings`: hooks for every event of {@link HOOK_EVENTS}. The CLI merges them with those of the
 * person and of the repository and touches no file of theirs; of two `--settings` it takes the last. Who has set
 * `disableAllHooks` gets none of ours either: it is not overridden, since that would also run theirs again.
 */
export function launchSettings(folder: string): Record<string, unknown> {
  const command = hookCommand(folder);
  const hook = (event: HookEventName) => ({
    type: 'command',
    command,
    timeout: TIMEOUT_S,
    ...(BESIDE.includes(event) ? { async: true } : {}),
  });
  return {
    hooks: Object.fromEntries(HOOK_EVENTS.map((event) => [event, [{ matcher: '*', hooks: [hook(event)] }]])),
  };
}
