import * as vscode from 'vscode';
import type { QueueEntry } from '../../sidecar/protocol/entry.ts';
import { hasEnded, isOfLanding } from '../../sidecar/protocol/landing.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import type { Connection } from '../connection/connection.ts';
import { ExtensionError } from '../connection/failure.ts';
import { withProgress } from '../connection/progress.ts';
import type { ParamsOf, ResultOf } from '../connection/wire.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Landings } from '../fleet/landings.ts';
import { shortNameOf } from '../fleet/session-name.ts';
import { confirm, showInformation, showProgress, showWarning } from '../window/messages.ts';
import { pickText } from '../window/pick-text.ts';

interface Parts {
  connection: Pick<Connection, 'request' | 'requestIfConnected' | 'on'>;
  fleet: Fleet;
  landings: Landings;
  terminals: { show(session: Session, pane: 'agent'): void };
}

type Preview = ResultOf<'LandPreview'>;

/** Asks what has to be asked, or with `asksWhereTo` what was answered once, queues the session, and shows how it lands. */
export async function land(
  context: Parts,
  session: Session,
  { asksWhereTo = false }: { asksWhereTo?: boolean } = {},
): Promise<void> {
  const { connection } = context;
  const preview = await withProgress(
    'Looking at what there is to land',
    () => connection.request('LandPreview', { session: session.id }),
    'ends-waiting',
  );
  const wish: ParamsOf<'Land'> = { session: session.id };
  refuseWhatIsRefused(preview);
  if ((preview.target === null || asksWhereTo) && !isForNothing(session, preview)) {
    const to = await askWhereTo(preview);
    if (to === undefined) return;
    wish.to = to;
  }
  const target = wish.to ?? preview.target;
  // With a policy the person has said it once for all.
  const asks = preview.uncommitted.length > 0 && preview.policy === null;
  const where = target === 'remote' ? `${preview.remote}/${preview.base}` : preview.base;
  if (asks && !(await confirmUncommitted(session, preview.uncommitted, where))) return;
  if (target === 'remote' && preview.localOnly > 0) {
    if (!(await confirmLocalOnly(preview.base, preview.remote, preview.localOnly))) return;
    wish.withLocalCommits = true;
  }
  const entry = await connection.request('Land', wish);
  if (wish.to !== undefined) await showKeptTarget(context, session, wish.to);
  const letGo = context.landings.follow(session.id);
  try {
    await follow(context, session, entry);
  } finally {
    letGo();
  }
}

/** Said before anything is asked: the sidecar would refuse them after all. */
function refuseWhatIsRefused({ uncommitted, policy }: Preview): void {
  if (uncommitted.length === 0 || policy !== 'refuse') return;
  const files = uncommitted.length === 1 ? '1 file is' : `${uncommitted.length} files are`;
  throw new ExtensionError(
    'land.uncommitted',
    `${files} not committed, and your configuration refuses to land that.`,
    {
      hint: 'Commit them in the worktree, or change [land] uncommitted in config.toml.',
      data: uncommitted,
    },
  );
}

/** Whether the sidecar will say that there is nothing to land, and why: nobody is asked where. A turn may come to something. */
function isForNothing({ facts }: Session, { ahead, uncommitted, localOnly }: Preview): boolean {
  return facts.agent !== 'working' && ahead === 0 && localOnly === 0 && uncommitted.length === 0;
}

/** It holds from now on, and nobody would know where it stands. */
async function showKeptTarget(
  { connection }: Parts,
  session: Session,
  to: 'local' | 'remote',
): Promise<void> {
  const { base, remote, kept, configured } = await connection.request('LandPreview', { session: session.id });
  if (configured !== null || kept !== to) return;
  const where = to === 'remote' ? `on ${remote}` : 'in this clone only';
  void showInformation(
    `${base} lands ${where} from now on: kept for this repository until Land To… says otherwise, ` +
      'or [land] to in config.toml.',
  );
}

async function askWhereTo({
  base,
  remote,
  target,
  configured,
}: Preview): Promise<'local' | 'remote' | undefined> {
  const sofar = (to: 'local' | 'remote') => (to === target ? 'as it is now' : '');
  const picked = await vscode.window.showQuickPick(
    [
      ...(remote === null
        ? []
        : [
            {
              label: `$(cloud-upload) Push to ${pickText(`${remote}/${base}`)}`,
              description: sofar('remote'),
              detail: 'The remote base is what counts; your local one follows.',
              to: 'remote' as const,
            },
          ]),
      {
        label: `$(home) Only in this clone`,
        description: sofar('local'),
        detail: `Your local ${pickText(base)} moves; pushing it stays with you.`,
        to: 'local' as const,
      },
    ],
    {
      title: `Where does ${base} land?`,
      placeHolder:
        configured === null ? 'Kept for this repository' : 'This time: your configuration says it else',
    },
  );
  return picked?.to;
}

/** Paths that a question shows. */
const MAX_PATHS = 15;

async function confirmUncommitted(
  session: Session,
  paths: readonly string[],
  where: string,
): Promise<boolean> {
  const shown = paths.slice(0, MAX_PATHS).join('\n');
  const more = paths.length > MAX_PATHS ? `\n… and ${paths.length - MAX_PATHS} more` : '';
  const count = paths.length === 1 ? 'One file is' : `${paths.length} files are`;
  return confirm(
    `${count} not committed yet. Commit on ${session.branch} and land on ${where}?`,
    `${shown}${more}\n\nThe commit is called "${session.title}", carries your name and runs your hooks.`,
    'Commit and Land',
  );
}

async function confirmLocalOnly(base: string, remote: string | null, count: number): Promise<boolean> {
  const commits = count === 1 ? '1 commit' : `${count} commits`;
  return confirm(
    `Your local ${base} has ${commits} that ${remote} lacks. They would land along.`,
    undefined,
    'Land Them Too',
  );
}

/** Shows an entry on its way until it has ended, or waits for the person. Cancel takes it out of the queue. */
async function follow(context: Parts, session: Session, queued: QueueEntry): Promise<void> {
  const entry = await showProgress(`Landing "${shortNameOf(session)}"`, async (report, token) => {
    const done = Promise.withResolvers<QueueEntry>();
    const look = (now: QueueEntry) => {
      if (now.id !== queued.id) return;
      report(wordsOf(now));
      if (hasEnded(now.state) || (now.state === 'waiting' && isForPerson(context, now))) done.resolve(now);
    };
    const listening = [
      context.connection.on('EntryChanged', look),
      // What was missed while there was no connection, and whether it waits for the person by now.
      context.fleet.onDidChange((change) => {
        if (change.kind === 'session' && change.session.id !== session.id) return;
        void readAgain(context, queued.id).then((now) => now && look(now));
      }),
    ];
    token.onCancellationRequested(() => {
      context.connection.request('Unqueue', { session: session.id }).then(look, () => {});
    });
    // What happened before it was followed.
    const now = await readAgain(context, queued.id);
    if (now !== undefined) look(now);
    return done.promise.finally(() => {
      for (const each of listening) each.dispose();
    });
  });
  await showOutcome(context, session, entry);
}

async function readAgain(context: Parts, id: string): Promise<QueueEntry | undefined> {
  const entries = await context.connection
    .requestIfConnected('ListQueue', { ended: true })
    .catch(() => undefined);
  return entries?.find((each) => each.id === id);
}

/** What the agent asks meanwhile is told as any need; the landing goes on once it is answered. */
function isForPerson({ fleet }: Parts, entry: QueueEntry): boolean {
  const session = fleet.get(entry.session);
  const reason = session?.state === 'needs-you' ? session.reason : null;
  return reason !== null && isOfLanding(reason.kind);
}

function wordsOf(entry: QueueEntry): string {
  const place = entry.position !== null && entry.position > 1 ? ` (${entry.position} in line)` : '';
  const word: Partial<Record<QueueEntry['state'], string>> = {
    securing: 'securing the work',
    merging: `merging into ${entry.base}`,
    checking: 'checking the merged tree',
    swapping: `moving ${entry.base}`,
  };
  return entry.message ?? `${word[entry.state] ?? entry.state}${place}`;
}

async function showOutcome(context: Parts, session: Session, entry: QueueEntry): Promise<void> {
  const where = entry.remote === null ? entry.base : `${entry.remote}/${entry.base}`;
  if (entry.state === 'landed') {
    const note = entry.message === null ? '' : ` ${entry.message}`;
    void showInformation(
      `Landed on ${where} as ${entry.landed?.slice(0, 10) ?? ''}: "${shortNameOf(session)}".${note}`,
    );
    return;
  }
  if (entry.state === 'cancelled') {
    void showInformation(`Taken out of the queue: "${shortNameOf(session)}".`);
    return;
  }
  const paths = entry.paths.length === 0 ? '' : ` (${entry.paths.slice(0, 5).join(', ')})`;
  const what = `Did not land: "${shortNameOf(session)}". ${entry.message ?? entry.state}${paths}`;
  // Not waited for: what becomes of the session from here on is told by others.
  void showWarning(what, 'Open Terminal', 'Open Changes').then(async (chosen) => {
    if (chosen === 'Open Terminal') context.terminals.show(session, 'agent');
    if (chosen === 'Open Changes') {
      await vscode.commands.executeCommand('fairlead.openChanges', session.id);
    }
  });
}
