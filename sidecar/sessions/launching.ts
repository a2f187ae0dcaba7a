import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CLAUDE_CODE } from '../agents/claude/definition.ts';
import { fitsAsArgument, launchArguments } from '../agents/claude/launch-arguments.ts';
import { eventsFolder, launchSettings } from '../agents/claude/settings.ts';
import { claudeConfigDir, findTranscript } from '../agents/claude/transcript-path.ts';
import { INSTALL_CLAUDE } from '../agents/claude/version.ts';
import { type Launch, writeLaunchFile } from '../environments/launch-file.ts';
import { makePrivateFolder, writePrivateFile } from '../environments/private-folder.ts';
import { requireOwnWorktree } from '../git/worktree-faults.ts';
import { findProgram } from '../platform/programs.ts';
import { readTextFile } from '../platform/regular-file.ts';
import { FairleadError } from '../protocol/errors.ts';
import type { PermissionMode } from '../protocol/session.ts';
import type { SessionContext } from './context.ts';
import type { PromptRecord, SessionRecord } from './record.ts';
import type { TerminalHost } from './terminal-host.ts';

/** Size of a terminal that nobody has looked at yet. */
const FIRST_SIZE = { cols: 120, rows: 40 };

/** A session whose worktree was made. */
export type PlacedSession = SessionRecord & { git_dir: string };

/**
 * Starts the agent of a session in its worktree: with its conversation when it has one, with the first prompt that
 * waits as an argument. What is decided (ids of terminal and conversation, the prompt on its way) is stored before
 * anything starts; a repeated call after a crash makes the same terminal and not a second one.
 * @throws FairleadError `worktree.broken`, `agent.missing`, `terminal.refused`, `daemon.spawn-failed`
 */
export async function launchAgent(
  context: SessionContext,
  terminals: TerminalHost,
  session: PlacedSession,
): Promise<void> {
  const { table, ids, clock } = context;
  const { common_dir, main } = table.repository(session.repository);
  refuseForeignFolder(common_dir, session);
  const environment = table.environment(session.environment);
  const command = agentProgram(context.configFor(main).agent.command, environment);
  const start = table.transaction(() => {
    const now = clock.now();
    const conversation = conversationOf(context, session, environment);
    table.appendAgentSession(session.id, conversation.sessionId, now);
    const waiting = table.openPrompts(session.id).find((prompt) => isForLaunch(prompt));
    if (waiting !== undefined) {
      table.updatePrompt(waiting.id, {
        state: 'sent',
        via: 'launch',
        tries: waiting.tries + 1,
        sent_at: now,
      });
    }
    const terminal = session.life === 'starting' && session.terminal !== null ? session.terminal : ids.uuid();
    table.update(session.id, { terminal });
    return { conversation, terminal, prompt: waiting?.text };
  });
  context.step?.('launch-stored');
  const settings = writeSettings(session.git_dir);
  const launch: Launch = {
    worktree: session.worktree,
    gitDir: session.git_dir,
    pointer: readTextFile(join(session.worktree, '.git')).split('\n', 1)[0] ?? '',
    folder: session.folder,
    environment: { ...CLAUDE_CODE.environment, ...sessionVariables(context, session, main) },
    unset: [],
    argv: [
      command,
      ...launchArguments({
        conversation: start.conversation,
        settings,
        mode: session.mode satisfies PermissionMode | null,
        model: session.model,
        prompt: start.prompt,
      }),
    ],
  };
  const file = writeLaunchFile(launch);
  context.step?.('launch-written');
  await terminals.create({
    id: start.terminal,
    argv: ['/bin/sh', file],
    cwd: session.worktree,
    env: { ...environment, ...agentLink(context) },
    ...FIRST_SIZE,
  });
  context.step?.('terminal-made');
}

/** A shell in the worktree, beside the agent. */
export async function launchShell(
  context: SessionContext,
  terminals: TerminalHost,
  session: PlacedSession,
  id: string,
): Promise<void> {
  const { common_dir, main } = context.table.repository(session.repository);
  refuseForeignFolder(common_dir, session);
  const environment = context.table.environment(session.environment);
  await terminals.create({
    id,
    argv: [environment.SHELL || '/bin/sh'],
    cwd: join(session.worktree, session.folder),
    env: { ...environment, ...sessionVariables(context, session, main), ...agentLink(context) },
    ...FIRST_SIZE,
  });
}

/** The agent may have switched branches in its own worktree; that it is ours is what counts. */
function refuseForeignFolder(commonDir: string, session: PlacedSession): void {
  requireOwnWorktree({ commonDir }, session.worktree, session.branch);
}

/** @throws FairleadError `agent.missing` */
export function agentProgram(
  configured: string | undefined,
  environment: Readonly<Record<string, string>>,
): string {
  const name = configured ?? CLAUDE_CODE.command;
  const found = findProgram(name, environment);
  if (found !== undefined) return found;
  throw new FairleadError('agent.missing', `"${name}" is not on the PATH of this session.`, {
    hint:
      configured === undefined
        ? `${INSTALL_CLAUDE}. If it is installed, make sure that \`claude\` runs in a terminal.`
        : 'Make sure that it runs in a terminal, or set [agent] command to a program that does.',
  });
}

/** The conversation goes on when it has left a transcript; else it begins, under the same id when it has one. */
function conversationOf(
  context: SessionContext,
  session: SessionRecord,
  environment: Readonly<Record<string, string>>,
): { kind: 'new' | 'resume'; sessionId: string } {
  const last = context.table.agentSessions(session.id).at(-1);
  if (last === undefined) return { kind: 'new', sessionId: context.ids.uuid() };
  const configDir = claudeConfigDir(environment);
  const transcript = configDir === undefined ? undefined : findTranscript(configDir, last.id);
  return { kind: transcript === undefined ? 'new' : 'resume', sessionId: last.id };
}

/** One that is on its way already comes by its own: it is typed when it was not seen to arrive. */
function isForLaunch(prompt: PromptRecord): boolean {
  return prompt.state === 'waiting' && fitsAsArgument(prompt.text);
}

/** A file rather than an argument: arguments are seen by everybody on the machine. */
function writeSettings(gitDir: string): string {
  const events = eventsFolder(gitDir);
  makePrivateFolder(gitDir, events);
  const file = join(gitDir, 'fairlead', 'settings.json');
  writePrivateFile(gitDir, file, JSON.stringify(launchSettings(events)), 0o600);
  return file;
}

function sessionVariables(
  context: SessionContext,
  session: PlacedSession,
  main: string,
): Record<string, string> {
  return {
    FAIRLEAD_SESSION: session.id,
    FAIRLEAD_WORKTREE: session.worktree,
    FAIRLEAD_REPO: main,
    FAIRLEAD_GIT_DIR: session.git_dir,
    FAIRLEAD_BRANCH: session.branch,
    FAIRLEAD_BASE: session.base,
    FAIRLEAD_HOME: context.paths.home,
  };
}

/** The ssh agent under its stable path, so that it still works when the window that brought it is gone. */
function agentLink(context: SessionContext): Record<string, string> {
  const { SSH_AUTH_SOCK } = context.networkEnvironment();
  return SSH_AUTH_SOCK !== undefined && existsSync(SSH_AUTH_SOCK) ? { SSH_AUTH_SOCK } : {};
}
