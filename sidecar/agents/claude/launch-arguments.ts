import type { PermissionMode } from '../../protocol/session.ts';
import { fillArguments } from '../agent.ts';
import { CLAUDE_CODE } from './definition.ts';

/** How a `claude` process of a session starts. */
export interface LaunchOptions {
  /** A conversation that begins under an id that we choose, or one that goes on. Ids are UUIDs. */
  conversation: { kind: 'new' | 'resume'; sessionId: string };
  /** Path of a settings file, or the JSON itself. */
  settings: string;
  mode?: PermissionMode | null | undefined;
  /** Alias or id, as `--model` takes it. */
  model?: string | null | undefined;
  /** First prompt; see {@link fitsAsArgument}. The CLI submits it when it is ready. */
  prompt?: string | undefined;
}

/** Longest first prompt that goes as an argument, in bytes. Linux takes 128 KiB for one argument (execve(2)). */
export const MAX_PROMPT_ARGUMENT = 120_000;

/** Whether `prompt` can be the first prompt of {@link launchArguments}; else it has to be pasted. */
export function fitsAsArgument(prompt: string): boolean {
  return Buffer.byteLength(prompt) <= MAX_PROMPT_ARGUMENT;
}

/** The arguments after `claude`. */
export function launchArguments(options: LaunchOptions): string[] {
  const { conversation, prompt } = options;
  return fillArguments(conversation.kind === 'new' ? CLAUDE_CODE.start : CLAUDE_CODE.resume, {
    session: conversation.sessionId,
    settings: options.settings,
    mode: options.mode ?? undefined,
    model: options.model ?? undefined,
    prompt: prompt === undefined || prompt === '' ? undefined : promptArgument(prompt),
  });
}

/**
 * The argument that makes the CLI submit `prompt` as it stands. After `--` only two beginnings are read as
 * something else, and a space before them helps: a slash (a command that does not exist would be dropped with a
 * message; one that does exist still runs) and a single word that is a subcommand of the CLI, such as `mcp`.
 * The words `exit` and `quit` alone end the CLI whatever is done. Seen with 2.1.332.
 */
export function promptArgument(prompt: string): string {
  const text = prompt.replaceAll('\0', '');
  return text.startsWith('/') || /^[a-z][a-z0-9-]*$/.test(text) ? ` ${text}` : text;
}
