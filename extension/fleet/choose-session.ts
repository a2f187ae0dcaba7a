import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Session } from '../../sidecar/protocol/session.ts';
import { stateWords } from '../../sidecar/protocol/wording.ts';
import { showInformation } from '../window/messages.ts';
import { pickText } from '../window/pick-text.ts';
import type { Fleet } from './fleet.ts';
import type { LastUsed } from './last-used.ts';
import type { Repositories } from './repositories.ts';
import { iconOf } from './session-look.ts';
import { nameOf, shortNameOf } from './session-name.ts';

interface Parts {
  fleet: Fleet;
  lastUsed: LastUsed;
  repositories: Pick<Repositories, 'all'>;
}

/**
 * Whether the person always says which session is meant, also of a single one, since what is done to the wrong one
 * hurts; or unless they had to do with it last. Where neither holds, the only one that fits is meant as well.
 */
export type AsksWhich = 'always' | 'unless-used';

interface Choice {
  /** What the command is called: nobody has to remember what they are asked for. */
  title: string;
  /** Sessions that can be meant. */
  fits(session: Session): boolean;
  /** What is said when there are sessions and none fits. */
  none?: string;
  /** What is said of the one that was used last where that does not fit; by default its state. */
  unfit?: (session: Session) => string;
  asksWhich?: AsksWhich;
}

/**
 * The session of a command that names none: the one that was used last, else the only one that fits, else the one that
 * the person picks. Neither one of a repository that is not this window's is taken without asking, nor another than the
 * one that was used last.
 */
export async function chooseSession(
  { fleet, lastUsed, repositories }: Parts,
  {
    title,
    fits,
    none = 'No session fits this command now.',
    unfit: sayUnfit = inItsState,
    asksWhich,
  }: Choice,
): Promise<Session | undefined> {
  const sessions = fleet.sessions.filter(fits);
  if (sessions.length === 0) {
    if (fleet.sessions.length > 0) await showInformation(none);
    else if ((await showInformation('There is no session yet.', 'New Session')) === 'New Session') {
      await vscode.commands.executeCommand('fairlead.newSession');
    }
    return undefined;
  }
  const isOwn = ({ repo }: Session) => repositories.all.includes(repo);
  const used = sessions.find(({ id }) => id === lastUsed.session);
  const unfit = used === undefined ? fleet.get(lastUsed.session ?? '') : undefined;
  const candidates = asksWhich === 'unless-used' ? fleet.sessions : sessions;
  const only = candidates.length === 1 && unfit === undefined ? sessions[0] : undefined;
  const meant = used ?? only;
  if (meant !== undefined && asksWhich !== 'always' && isOwn(meant)) return meant;
  const offered = used === undefined ? sessions : [used, ...sessions.filter((each) => each !== used)];
  const picked = await vscode.window.showQuickPick(itemsOf(offered, isOwn), {
    title,
    placeHolder: unfit === undefined ? 'Which session?' : `${sayUnfit(unfit)} Which session instead?`,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return picked?.session;
}

function inItsState(session: Session): string {
  return `"${shortNameOf(session)}" is ${stateWords(session)}.`;
}

type Item = vscode.QuickPickItem & { session?: Session };

/** Under the name of their repository, this window's first, where they are not all of the one that is open. */
function itemsOf(sessions: readonly Session[], isOwn: (session: Session) => boolean): Item[] {
  const byRepo = [...Map.groupBy(sessions, ({ repo }) => repo)];
  const areNamed = byRepo.length > 1 || !sessions.every(isOwn);
  const isOfWindow = ([, [first]]: [string, Session[]]) => first !== undefined && isOwn(first);
  const ordered = [...byRepo.filter(isOfWindow), ...byRepo.filter((each) => !isOfWindow(each))];
  return ordered.flatMap(([repo, own]): Item[] => {
    const name = basename(repo);
    const rows = own.map((session) => ({
      label: pickText(nameOf(session)),
      // A separator goes once something is typed.
      description: areNamed ? `${stateWords(session)} · ${pickText(name)}` : stateWords(session),
      detail: pickText(session.branch),
      iconPath: iconOf(session),
      session,
    }));
    return areNamed ? [{ label: name, kind: vscode.QuickPickItemKind.Separator }, ...rows] : rows;
  });
}
