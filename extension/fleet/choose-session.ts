import * as vscode from 'vscode';
import type { Session } from '../../sidecar/protocol/session.ts';
import { stateWords } from '../../sidecar/protocol/wording.ts';
import { showInformation } from '../window/messages.ts';
import { pickText } from '../window/pick-text.ts';
import type { Fleet } from './fleet.ts';
import type { LastUsed } from './last-used.ts';
import { iconOf } from './session-look.ts';

interface Parts {
  fleet: Fleet;
  lastUsed: LastUsed;
}

interface Choice {
  /** Sessions that can be meant. */
  fits(session: Session): boolean;
  /** Whether what is done to the wrong one hurts: the person then always says which, also of a single one. */
  isGrave?: boolean;
}

/**
 * The session of a command that names none: the one that was used last, else the only one that fits, else the one that
 * the person picks.
 */
export async function chooseSession(
  { fleet, lastUsed }: Parts,
  { fits, isGrave = false }: Choice,
): Promise<Session | undefined> {
  const sessions = fleet.sessions.filter(fits);
  if (sessions.length === 0) {
    await showInformation(
      fleet.sessions.length === 0 ? 'There is no session yet.' : 'No session fits this command now.',
    );
    return undefined;
  }
  const used = sessions.find(({ id }) => id === lastUsed.session);
  if (!isGrave) {
    if (used !== undefined) return used;
    const [only] = sessions;
    if (sessions.length === 1) return only;
  }
  const offered = used === undefined ? sessions : [used, ...sessions.filter((each) => each !== used)];
  const picked = await vscode.window.showQuickPick(
    offered.map((session) => ({
      label: pickText(session.title),
      description: stateWords(session),
      detail: pickText(session.branch),
      iconPath: iconOf(session),
      session,
    })),
    { title: 'Fairlead', placeHolder: 'Which session?', matchOnDescription: true, matchOnDetail: true },
  );
  return picked?.session;
}
