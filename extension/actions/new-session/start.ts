import type * as vscode from 'vscode';
import type { Session } from '../../../sidecar/protocol/session.ts';
import type { Connection } from '../../connection/connection.ts';
import { failureOf, wordsOf } from '../../connection/failure.ts';
import { withProgress } from '../../connection/progress.ts';
import type { ResultOf } from '../../connection/wire.ts';
import type { Fleet } from '../../fleet/fleet.ts';
import { showInformation } from '../../window/messages.ts';
import { setting } from '../../window/setting.ts';
import type { Plan } from './plan.ts';

export interface StartParts {
  connection: Pick<Connection, 'requestOnce'>;
  fleet: Pick<Fleet, 'get' | 'load'>;
  terminals: { show(session: Session, pane: 'agent', preserveFocus?: boolean): void };
  output: Pick<vscode.LogOutputChannel, 'error'>;
}

type Made = ResultOf<'NewSession'>;

/**
 * Starts the session, and shows it as far as that can be done: once it is made nothing is thrown, which would be taken for
 * a session that was not.
 * @throws as `NewSession` does, `cancelled` among them
 */
export async function start(context: StartParts, { folder, text, choices }: Plan): Promise<void> {
  const made = await withProgress('Starting the session', (options) =>
    context.connection.requestOnce('NewSession', { folder, prompt: text, ...choices, start: true }, options),
  );
  try {
    await showMade(context, made);
  } catch (error) {
    context.output.error(`A session was started and could not be shown: ${wordsOf(failureOf(error))}`);
  }
}

async function showMade({ fleet, terminals }: StartParts, made: Made): Promise<void> {
  const notes = [...made.notes];
  if (made.leftBehind > 0) {
    notes.push(
      made.leftBehind === 1
        ? 'One uncommitted change stays in your checkout.'
        : `${made.leftBehind} uncommitted changes stay in your checkout.`,
    );
  }
  if (notes.length > 0) void showInformation(notes.join(' '));
  if (made.attempts.some(({ id }) => fleet.get(id) === undefined)) await fleet.load();
  if (!setting('openTerminalOnStart')) return;
  const session = fleet.get(made.session.id) ?? made.session;
  if (session.state !== 'needs-you') terminals.show(session, 'agent', true);
}
