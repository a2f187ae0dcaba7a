import * as vscode from 'vscode';
import type { Session } from '../sidecar/protocol/session.ts';
import { answer, giveAnswer } from './actions/answer.ts';
import { showConversation } from './actions/conversation.ts';
import { doctor } from './actions/doctor.ts';
import { land } from './actions/land.ts';
import { newSession, newSessionFromEditor } from './actions/new-session.ts';
import { showSidecarLog } from './actions/sidecar-log.ts';
import type { Context } from './context.ts';
import { chooseSession } from './fleet/choose-session.ts';
import { openChanges } from './lanes/session-changes.ts';
import { askText, inform, warn } from './messages.ts';
import { withProgress } from './progress.ts';

/** A command that needs nothing but the window, or one that is about a session. */
type Command =
  | { kind: 'window'; needsTrust?: boolean; run(context: Context): Promise<void> }
  | {
      kind: 'session';
      needsTrust?: boolean;
      /** Whether the person says which session is meant, unless it was clicked or named. */
      isGrave?: boolean;
      /** Sessions that are offered when none was named. */
      fits(session: Session): boolean;
      run(context: Context, session: Session): Promise<void>;
    };

const any = () => true;
const hasAgent = ({ facts }: Session) => facts.life === 'active' || facts.life === 'starting';

/** Every command of the extension, by its id. */
export const COMMANDS = {
  'fairlead.newSession': { kind: 'window', needsTrust: true, run: newSession },
  'fairlead.newSessionFromEditor': { kind: 'window', needsTrust: true, run: newSessionFromEditor },
  'fairlead.showFleet': { kind: 'window', run: async () => void (await focusFleet()) },
  'fairlead.doctor': { kind: 'window', run: doctor },
  'fairlead.showLog': { kind: 'window', run: async ({ output }) => output.show() },
  'fairlead.showSidecarLog': { kind: 'window', run: showSidecarLog },
  'fairlead.retry': { kind: 'window', run: async ({ connection }) => void (await connection.start()) },
  'fairlead.restartSidecar': {
    kind: 'window',
    run: ({ connection }) => withProgress('Restarting the sidecar', ({ token }) => connection.restart(token)),
  },
  'fairlead.refresh': {
    kind: 'window',
    run: async ({ connection, fleet, repositories }) => {
      await connection.start();
      await Promise.all([fleet.load(), repositories.findAgain()]);
    },
  },
  'fairlead.openTerminal': {
    kind: 'session',
    needsTrust: true,
    fits: any,
    run: async ({ terminals }, session) => terminals.show(session, 'agent'),
  },
  'fairlead.newShell': {
    kind: 'session',
    needsTrust: true,
    fits: any,
    run: async ({ terminals }, session) => terminals.show(session, 'shell'),
  },
  'fairlead.openChanges': {
    kind: 'session',
    fits: any,
    run: async ({ connection }, session) => {
      await withProgress('Reading the changes', ({ token }) => openChanges(connection, session, token));
    },
  },
  'fairlead.showConversation': { kind: 'session', fits: any, run: showConversation },
  'fairlead.sendPrompt': {
    kind: 'session',
    needsTrust: true,
    fits: any,
    run: async ({ connection }, session) => {
      const text = await askText({
        title: session.title,
        prompt: hasAgent(session)
          ? 'What the agent shall do next'
          : 'The agent is started again with this prompt',
        ignoreFocusOut: true,
      });
      if (text === undefined || text.trim() === '') return;
      const { confirmed } = await withProgress('Sending the prompt', (options) =>
        connection.request('SendPrompt', { session: session.id, text }, options),
      );
      if (!confirmed) {
        void inform(`"${session.title}" gets the prompt when its turn ends.`);
      }
    },
  },
  'fairlead.answer': {
    kind: 'session',
    needsTrust: true,
    fits: ({ state }) => state === 'needs-you',
    run: answer,
  },
  'fairlead.allow': {
    kind: 'session',
    needsTrust: true,
    isGrave: true,
    fits: ({ reason }) => reason?.kind === 'permission',
    run: (context, session) => giveAnswer(context, session, 'allow'),
  },
  'fairlead.deny': {
    kind: 'session',
    needsTrust: true,
    isGrave: true,
    fits: ({ reason }) => reason?.kind === 'permission',
    run: (context, session) => giveAnswer(context, session, 'deny'),
  },
  'fairlead.interrupt': {
    kind: 'session',
    fits: ({ state }) => state === 'working' || state === 'needs-you',
    run: async ({ connection }, session) => {
      await withProgress('Interrupting the turn', (options) =>
        connection.request('Interrupt', { session: session.id }, options),
      );
    },
  },
  'fairlead.stop': {
    kind: 'session',
    isGrave: true,
    fits: hasAgent,
    run: async ({ connection }, session) => {
      await withProgress('Stopping the agent', (options) =>
        connection.request('Stop', { session: session.id }, options),
      );
    },
  },
  'fairlead.land': { kind: 'session', needsTrust: true, fits: ({ queue }) => queue === null, run: land },
  'fairlead.unqueue': {
    kind: 'session',
    fits: ({ queue }) => queue !== null,
    run: async ({ connection }, session) => {
      await connection.request('Unqueue', { session: session.id });
    },
  },
  'fairlead.rename': {
    kind: 'session',
    fits: any,
    run: async ({ connection }, session) => {
      const title = await askText({
        title: 'Rename Session',
        value: session.title,
        validateInput: (text) => (text.trim() === '' ? 'A session has a title.' : undefined),
      });
      if (title !== undefined) await connection.request('Rename', { session: session.id, title });
    },
  },
  'fairlead.archive': {
    kind: 'session',
    isGrave: true,
    fits: any,
    run: async ({ connection, terminals }, session) => {
      await withProgress('Archiving the session', (options) =>
        connection.request('Archive', { session: session.id }, options),
      );
      terminals.close(session.id);
      const { prompts } = await connection
        .request('UnsentPrompts', { session: session.id })
        // A sidecar of an earlier build does not know the question.
        .catch(() => ({ prompts: [] }));
      const unsent = prompts.map((prompt) => ` Its agent never got this prompt: ${prompt}`).join('');
      void inform(
        `"${session.title}" is archived. Its branch ${session.branch} and its conversation stay.${unsent}`,
      );
    },
  },
  'fairlead.copyBranch': {
    kind: 'session',
    fits: any,
    run: async (_context, session) => vscode.env.clipboard.writeText(session.branch),
  },
  'fairlead.copyWorktree': {
    kind: 'session',
    fits: any,
    run: async (_context, session) => vscode.env.clipboard.writeText(session.worktree),
  },
} satisfies Record<string, Command>;

export type CommandId = keyof typeof COMMANDS;

/** Registers every command. What goes wrong in one is shown to the person. */
export function registerCommands(context: Context, present: (error: unknown) => void): vscode.Disposable[] {
  return Object.entries<Command>(COMMANDS).map(([id, command]) =>
    vscode.commands.registerCommand(id, async (target: unknown) => {
      try {
        if (command.needsTrust === true && !vscode.workspace.isTrusted) return await askForTrust();
        if (command.kind === 'window') return await command.run(context);
        const session = await sessionOf(context, target, command);
        if (session !== undefined) await command.run(context, session);
      } catch (error) {
        present(error);
      }
    }),
  );
}

/** The session that was clicked or named, else see {@link chooseSession}. */
async function sessionOf(
  context: Context,
  target: unknown,
  command: Command & { kind: 'session' },
): Promise<Session | undefined> {
  await context.connection.start();
  if (!context.fleet.isLoaded) await context.fleet.load();
  const named = typeof target === 'string' ? target : idOf(target);
  if (named !== undefined) {
    return context.fleet.get(named) ?? (await context.connection.request('ShowSession', { session: named }));
  }
  return chooseSession(context, command);
}

/** Of a row of the fleet. */
function idOf(target: unknown): string | undefined {
  if (typeof target !== 'object' || target === null || !('kind' in target) || !('id' in target))
    return undefined;
  return target.kind === 'session' && typeof target.id === 'string' ? target.id : undefined;
}

async function focusFleet(): Promise<void> {
  await vscode.commands.executeCommand('fairlead.fleet.focus');
}

async function askForTrust(): Promise<void> {
  const chosen = await warn(
    'Agents run the code of this repository. Trust the workspace first.',
    'Manage Trust',
  );
  if (chosen !== undefined) await vscode.commands.executeCommand('workbench.trust.manage');
}
