import type * as vscode from 'vscode';
import type { Session } from '../sidecar/protocol/session.ts';
import { showAlreadyAnswered } from './actions/answer.ts';
import { perform, registerCommands, type SessionCommandId } from './commands.ts';
import { failureOf, wordsOf } from './connection/failure.ts';
import { presentFailure } from './connection/present-failure.ts';
import { Context } from './context.ts';
import { FleetStatus } from './fleet/fleet-status.ts';
import { FleetView } from './fleet/fleet-view.ts';
import { Needs } from './fleet/needs.ts';
import { hasRepository } from './fleet/repositories.ts';
import { putCommandOnPath } from './terminals/command-on-path.ts';
import { showError } from './window/messages.ts';

let context: Context | undefined;

/**
 * Builds the parts and joins them. The sidecar is asked once a view is there, and never waited for. VS Code shows nothing
 * of what is thrown here.
 */
export async function activate(extension: vscode.ExtensionContext): Promise<void> {
  performance.mark('fairlead.activate');
  try {
    await build(extension);
  } catch (error) {
    const text = wordsOf(failureOf(error));
    context?.output.error(error instanceof Error ? error : text);
    void showError(`Fairlead could not start: ${text}`);
  }
}

async function build(extension: vscode.ExtensionContext): Promise<void> {
  const made = new Context(extension);
  context = made;
  // Whatever comes of the rest, it is ended with the window.
  extension.subscriptions.push(made);
  // First, so that the sidecar is on its way while the parts are made.
  const opened = made.connection.open(hasRepository, () => view.whenDrawn);
  opened.catch((error: unknown) => made.output.error(wordsOf(failureOf(error))));
  const view = new FleetView(made);
  extension.subscriptions.push(view);
  // What was told to VS Code goes out between two turns: it asks for the rows while the rest is made.
  await new Promise((resolve) => setTimeout(resolve));
  const present = (error: unknown) => presentFailure(made.output, error);
  const act = (id: SessionCommandId, session: Session) => void perform(made, id, session, present);
  const actOn = (id: SessionCommandId, session: string) => {
    const now = made.fleet.get(session);
    if (now !== undefined) act(id, now);
  };
  extension.subscriptions.push(
    ...registerCommands(made, present),
    putCommandOnPath(extension),
    new FleetStatus(made.fleet, made.connection),
    new Needs(made.fleet, {
      mayBeOnScreen: (session) => made.terminals.mayBeOnScreen(session),
      typedAt: (session) => made.terminals.typedAt(session),
      onDidLook: made.terminals.onDidLook,
      isLanded: (session) => made.landings.isFollowed(session),
      isInHand: (session, need) => made.needsInHand.has(session, need),
      readNeed: async (session) => {
        const now = await made.connection.requestIfConnected('ShowNeed', { session }).catch(() => undefined);
        return now?.need;
      },
      isOfWindow: (repo) => made.repositories.all.includes(repo),
      answer(session, answer) {
        act(answer === undefined ? 'fairlead.answer' : `fairlead.${answer}`, session);
      },
      showAlreadyAnswered: (session) => showAlreadyAnswered(made, session),
      open: (session) => actOn('fairlead.openTerminal', session),
      land: (session) => actOn('fairlead.land', session),
      prompt: (session) => actOn('fairlead.sendPrompt', session),
    }),
  );
}

/** The sidecar and every agent go on. */
export async function deactivate(): Promise<void> {
  await context?.connection.close();
}
