import type { Session } from '../protocol/session.ts';
import { age, dollars } from '../protocol/wording.ts';
import { type Output, printable, table } from './output.ts';
import { shortNames } from './short-names.ts';
import { stateLabel } from './state-label.ts';

/** Terminal columns from which on the branch of a session is shown beside its title, which it is made of. */
const WIDE = 160;

/** The fleet as people read it, in the order that it is given. */
export function fleetTable(sessions: readonly Session[], output: Output, now: number): string {
  const wide = output.width >= WIDE;
  const repos = shortNames(sessions.map(({ repo }) => repo));
  const severalRepos = repos.size > 1;
  return table(
    [
      'SESSION',
      'STATE',
      'SINCE',
      'TURNS',
      'COST',
      ...(severalRepos ? ['REPO'] : []),
      ...(wide ? ['BRANCH'] : []),
      'TITLE',
    ],
    sessions.map((session) => [
      session.unread ? output.paint('bold', session.id) : session.id,
      // Finished work that nobody has seen stands above what is alike otherwise.
      stateLabel(session, output) + (session.state === 'finished' && session.unread ? ', unread' : ''),
      age(session.since, now),
      String(session.turns),
      dollars(session.cost.ownUsd) + (session.cost.unpriced > 0 ? '+?' : ''),
      ...(severalRepos ? [printable(repos.get(session.repo) ?? '')] : []),
      ...(wide ? [session.branch] : []),
      printable(
        // What is asked comes first: a narrow terminal cuts the rest.
        session.reason === null ? session.title : `${oneLine(session.reason.message)} · ${session.title}`,
      ),
    ]),
    output.width,
  );
}

/** Characters of a reason in a table, whose whole text `fairlead show` has. */
const MAX_REASON = 100;

/** The beginning of a text, on one line. */
export function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= MAX_REASON ? line : `${line.slice(0, MAX_REASON - 1)}…`;
}
