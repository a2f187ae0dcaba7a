import * as vscode from 'vscode';
import type { Session } from '../sidecar/protocol/session.ts';
import { stateWords } from '../sidecar/protocol/wording.ts';
import { answer, giveAnswer } from './actions/answer.ts';
import { showConversation } from './actions/conversation.ts';
import { doctor } from './actions/doctor.ts';
import { land } from './actions/land.ts';
import { newSession, newSessionFromEditor } from './actions/new-session/new-session.ts';
import { sendFromEditor } from './actions/send-from-editor.ts';
import { sendPrompt } from './actions/send-prompt.ts';
import { showSidecarLog } from './actions/sidecar-log.ts';
import { connectWithProgress, withProgress } from './connection/progress.ts';
import type { Context } from './context.ts';
import { type AsksWhich, chooseSession } from './fleet/choose-session.ts';
import { canInterrupt, canLand, hasAgent } from './fleet/session-abilities.ts';
import { shortNameOf } from './fleet/session-name.ts';
import { isToldWhole } from './fleet/told-whole.ts';
import { titleOf } from './window/command-title.ts';
import { askText, showInformation, showWarning } from './window/messages.ts';

/** A command that needs nothing but the window, or one that is about a session. */
type Command =
  | { kind: 'window'; needsTrust?: boolean; run(context: Context): Promise<void> }
  | {
      kind: 'session';
      needsTrust?: boolean;
      /** Whether the person says which session is meant where it was neither clicked nor named. */
      asksWhich?: AsksWhich;
      /** What is said when there are sessions and none fits. */
      none?: string;
      /** What is said of the one that was used last where that does not fit; by default its state. */
      unfit?: (session: Session) => string;
      /** Sessions that are offered when none was named. */
      fits(session: Session): boolean;
      /** `where`: the person saw there what `session` asked, and answers that. */
      run(context: Context, session: Session, where: Shown | undefined): Promise<void>;
    };

/** Where the person was when they pressed something that answers what a session asked. */
type Shown = 'row' | 'notification';

/** How long the status bar says that something was done, in milliseconds. */
const DONE_SHOWN_MS = 5_000;

const NOTHING_ASKED = 'No session needs you, so there is nothing to answer.';
const NO_PERMISSION_ASKED = 'No agent asks for a permission.';

/** Characters that the sidecar takes as a title; it cuts what is longer than a row has room for. */
const MAX_TITLE = 200;

/** Why a session cannot be called so; undefined when it can. */
function titleFault(text: string): string | undefined {
  if (/^[\s\p{Cc}\p{Cf}\p{Cs}]*$/u.test(text)) return 'A session has a title.';
  return text.length > MAX_TITLE ? `A title has at most ${MAX_TITLE} characters.` : undefined;
}

const any = () => true;
const isOutOfQueue = ({ queue }: Session) => queue === null;
/** With the way to a sidecar that may have to be started shown, before anything is asked. */
const connected = (run: (context: Context) => Promise<void>) => async (context: Context) => {
  await connectWithProgress(context.connection);
  await run(context);
};

/** Every command of the extension, by its id. */
export const COMMANDS = {
  'fairlead.newSession': { kind: 'window', needsTrust: true, run: connected(newSession) },
  'fairlead.newSessionFromEditor': {
    kind: 'window',
    needsTrust: true,
    run: connected(newSessionFromEditor),
  },
  'fairlead.sendFromEditor': { kind: 'window', needsTrust: true, run: sendFromEditor },
  'fairlead.showFleet': { kind: 'window', run: async () => void (await focusFleet()) },
  'fairlead.doctor': { kind: 'window', run: doctor },
  'fairlead.showLog': { kind: 'window', run: async ({ output }) => output.show() },
  'fairlead.showSidecarLog': { kind: 'window', run: showSidecarLog },
  'fairlead.retry': { kind: 'window', run: ({ connection }) => connectWithProgress(connection) },
  'fairlead.restartSidecar': {
    kind: 'window',
    run: async ({ connection }) => {
      await withProgress('Restarting the sidecar', () => connection.restart(), 'none');
      vscode.window.setStatusBarMessage('$(check) The sidecar was restarted', DONE_SHOWN_MS);
    },
  },
  'fairlead.refresh': {
    kind: 'window',
    run: async ({ connection, fleet, repositories }) => {
      await connectWithProgress(connection);
      await withProgress(
        'Looking again',
        () => Promise.all([fleet.load(), repositories.findAgain()]),
        'ends-waiting',
      );
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
    // A comparison with what is on disk runs the filters that the repository has set.
    needsTrust: true,
    fits: any,
    run: async ({ changes }, session) => {
      await withProgress('Reading the changes', ({ token }) => changes.open(session, token));
    },
  },
  'fairlead.showConversation': { kind: 'session', fits: any, run: showConversation },
  'fairlead.sendPrompt': {
    kind: 'session',
    needsTrust: true,
    fits: any,
    run: sendPrompt,
  },
  'fairlead.answer': {
    kind: 'session',
    needsTrust: true,
    none: NOTHING_ASKED,
    fits: ({ state }) => state === 'needs-you',
    run: answer,
  },
  'fairlead.allow': {
    kind: 'session',
    needsTrust: true,
    none: NO_PERMISSION_ASKED,
    asksWhich: 'always',
    fits: ({ reason }) => reason?.kind === 'permission',
    // What is allowed was shown whole.
    run: (context, session, where) =>
      where !== undefined && isToldWhole(session, where)
        ? giveAnswer(context, session, 'allow')
        : answer(context, session),
  },
  'fairlead.deny': {
    kind: 'session',
    needsTrust: true,
    none: NO_PERMISSION_ASKED,
    asksWhich: 'always',
    fits: ({ reason }) => reason?.kind === 'permission',
    run: (context, session, where) =>
      where !== undefined ? giveAnswer(context, session, 'deny') : answer(context, session),
  },
  'fairlead.interrupt': {
    kind: 'session',
    none: 'No agent works, so there is nothing to interrupt.',
    asksWhich: 'unless-used',
    fits: canInterrupt,
    run: async ({ connection }, session) => {
      if (!canInterrupt(session)) {
        void showInformation(`Nothing to interrupt: "${shortNameOf(session)}" is ${stateWords(session)}.`);
        return;
      }
      await withProgress(
        'Interrupting the turn',
        ({ onProgress }) => connection.request('Interrupt', { session: session.id }, { onProgress }),
        'none',
      );
    },
  },
  'fairlead.stop': {
    kind: 'session',
    asksWhich: 'always',
    fits: hasAgent,
    run: async ({ connection }, session) => {
      await withProgress(
        'Stopping the agent',
        ({ onProgress }) => connection.request('Stop', { session: session.id }, { onProgress }),
        'none',
      );
    },
  },
  'fairlead.resume': {
    kind: 'session',
    needsTrust: true,
    none: 'Every agent runs, so there is none to start.',
    unfit: (session) => `The agent of "${shortNameOf(session)}" runs.`,
    fits: ({ facts }) => facts.life === 'sleeping',
    run: async ({ connection }, session) => {
      await withProgress(
        'Starting the agent',
        ({ onProgress }) => connection.request('Resume', { session: session.id }, { onProgress }),
        'none',
      );
    },
  },
  'fairlead.land': {
    kind: 'session',
    needsTrust: true,
    asksWhich: 'unless-used',
    fits: canLand,
    run: (context, session) => land(context, session),
  },
  'fairlead.landTo': {
    kind: 'session',
    needsTrust: true,
    asksWhich: 'unless-used',
    // What is on its way keeps where it goes.
    fits: isOutOfQueue,
    run: (context, session) => land(context, session, { asksWhereTo: true }),
  },
  'fairlead.unqueue': {
    kind: 'session',
    fits: ({ queue }) => queue !== null,
    run: async ({ connection }, session) => {
      await withProgress(
        'Taking the session out of the queue',
        () => connection.request('Unqueue', { session: session.id }),
        'none',
      );
    },
  },
  'fairlead.rename': {
    kind: 'session',
    fits: any,
    run: async ({ connection }, session) => {
      const title = await askText({
        title: 'Rename Session',
        value: session.title,
        validateInput: titleFault,
      });
      if (title !== undefined) await connection.request('Rename', { session: session.id, title });
    },
  },
  'fairlead.archive': {
    kind: 'session',
    // What is lost with the worktree is found as changes are.
    needsTrust: true,
    asksWhich: 'always',
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
      void showInformation(
        `Archived: "${shortNameOf(session)}". Its branch ${session.branch} and its conversation stay.${unsent}`,
      );
    },
  },
  'fairlead.copyBranch': {
    kind: 'session',
    fits: any,
    run: (_context, session) => copy('branch', session.branch),
  },
  'fairlead.copyWorktree': {
    kind: 'session',
    fits: any,
    run: (_context, session) => copy('path', session.worktree),
  },
} satisfies Record<string, Command>;

export type CommandId = keyof typeof COMMANDS;
/** A command that is about a session. */
export type SessionCommandId = {
  [Id in CommandId]: (typeof COMMANDS)[Id]['kind'] extends 'session' ? Id : never;
}[CommandId];

/** Registers every command. What goes wrong in one is shown to the person. */
export function registerCommands(context: Context, present: (error: unknown) => void): vscode.Disposable[] {
  return Object.entries<Command>(COMMANDS).map(([id, command]) =>
    vscode.commands.registerCommand(id, (target: unknown) =>
      guarded(command, present, async () => {
        if (command.kind === 'window') return command.run(context);
        const found = await sessionOf(context, target, command, id);
        if (found !== undefined) await command.run(context, found.session, found.where);
      }),
    ),
  );
}

/** Runs a command for a session as a notification has shown it, by the same rules as when it is clicked. */
export function perform(
  context: Context,
  id: SessionCommandId,
  session: Session,
  present: (error: unknown) => void,
): Promise<void> {
  const command: Extract<Command, { kind: 'session' }> = COMMANDS[id];
  return guarded(command, present, () => command.run(context, session, 'notification'));
}

async function guarded(
  command: { readonly needsTrust?: boolean },
  present: (error: unknown) => void,
  run: () => Promise<void>,
): Promise<void> {
  try {
    if (command.needsTrust === true && !vscode.workspace.isTrusted) await askForTrust();
    else await run();
  } catch (error) {
    present(error);
  }
}

/** The session that was clicked or named, else see {@link chooseSession}. */
async function sessionOf(
  context: Context,
  target: unknown,
  command: Extract<Command, { kind: 'session' }>,
  id: string,
): Promise<{ session: Session; where: Shown | undefined } | undefined> {
  const row = rowOf(target);
  await connectWithProgress(context.connection);
  if (!context.fleet.isLoaded) await context.fleet.load();
  const named = typeof target === 'string' ? target : row?.id;
  if (named !== undefined) {
    const session =
      context.fleet.get(named) ?? (await context.connection.request('ShowSession', { session: named }));
    // What is clicked is what was drawn, whatever is asked by now.
    return row?.need === undefined
      ? { session, where: undefined }
      : { session: { ...session, need: row.need }, where: 'row' };
  }
  if (!context.repositories.isKnown) await context.repositories.find();
  const title = titleOf(context.extension, id);
  const session = await chooseSession(context, { ...command, title });
  return session === undefined ? undefined : { session, where: undefined };
}

/** Of a row of the fleet: its session, and the need that was drawn, undefined for none. */
function rowOf(target: unknown): { id: string; need: number | undefined } | undefined {
  if (typeof target !== 'object' || target === null || !('kind' in target) || !('id' in target))
    return undefined;
  if (target.kind !== 'session' || typeof target.id !== 'string') return undefined;
  const need: unknown = 'need' in target ? target.need : undefined;
  return { id: target.id, need: typeof need === 'number' ? need : undefined };
}

async function copy(what: string, text: string): Promise<void> {
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage(`$(check) Copied the ${what}`, DONE_SHOWN_MS);
}

async function focusFleet(): Promise<void> {
  await vscode.commands.executeCommand('fairlead.fleet.focus');
}

async function askForTrust(): Promise<void> {
  const chosen = await showWarning(
    'Agents run the code of this repository. Trust the workspace first.',
    'Manage Trust',
  );
  if (chosen !== undefined) await vscode.commands.executeCommand('workbench.trust.manage');
}
