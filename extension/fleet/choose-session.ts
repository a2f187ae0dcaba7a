import * as vscode from 'vscode';
import type { Session } from '../../sidecar/protocol/session.ts';
import { stateWords } from '../../sidecar/protocol/wording.ts';
import type { Context } from '../context.ts';
import { inform } from '../messages.ts';
import { iconOf } from './session-look.ts';

/** Lets the person pick one of the sessions that fit, in the order of the fleet. The only one is not asked for. */
export async function chooseSession(
  { fleet }: Context,
  fits: (session: Session) => boolean,
): Promise<Session | undefined> {
  const sessions = fleet.sessions.filter(fits);
  if (sessions.length === 0) {
    await inform(
      fleet.sessions.length === 0 ? 'There is no session yet.' : 'No session fits this command now.',
    );
    return undefined;
  }
  const [only] = sessions;
  if (sessions.length === 1) return only;
  const picked = await vscode.window.showQuickPick(
    sessions.map((session) => ({
      label: session.title,
      description: stateWords(session),
      detail: session.branch,
      iconPath: iconOf(session),
      session,
    })),
    { title: 'Fairlead', placeHolder: 'Which session?', matchOnDescription: true, matchOnDetail: true },
  );
  return picked?.session;
}
