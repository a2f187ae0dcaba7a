import * as vscode from 'vscode';
import type { QueueEntry } from '../../sidecar/protocol/entry.ts';
import { hasEnded, isOfLanding, waitsForPerson } from '../../sidecar/protocol/landing.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { entryStateWords } from '../../sidecar/protocol/wording.ts';
import type { Connection } from '../connection/connection.ts';
import { ExtensionError, failureOf, wordsOf } from '../connection/failure.ts';
import { withProgress } from '../connection/progress.ts';
import type { ParamsOf, ResultOf } from '../connection/wire.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Landings } from '../fleet/landings.ts';
import { commandOf, nextSteps } from '../fleet/next-steps.ts';
import { shortNameOf } from '../fleet/session-name.ts';
import { confirm, showError, showInformation, showProgress, showWarning } from '../window/messages.ts';
import { pickText } from '../window/pick-text.ts';

interface Parts {
  connection: Pick<Connection, 'request' | 'requestIfConnected' | 'on'>;
  fleet: Fleet;
  landings: Landings;
}

type Preview = ResultOf<'LandPreview'>;

/** Asks what has to be asked, or with `asksWhereTo` what was answered once, queues the session, and shows how it lands. */
export async function land(
  context: Parts,
  session: Session,
  options: { asksWhereTo?: boolean } = {},
): Promise<void> {
  try {
    await askAndLand(context, session, options);
  } catch (error) {
    const { code, message } = failureOf(error);
    if (code !== 'land.nothing-to-land') throw error;
    const steps = session.facts.landing === 'landed' ? AFTER_LANDING : BEFORE_WORK;
    void offer(showInformation, `${message.replace(/\.$/, '')}: "${shortNameOf(session)}".`, session, steps);
  }
}

const AFTER_LANDING = { 'Open Changes': 'fairlead.openChanges', Archive: 'fairlead.archive' };
const BEFORE_WORK = { 'Send Prompt…': 'fairlead.sendPrompt', 'Open Terminal': 'fairlead.openTerminal' };

async function askAndLand(
  context: Parts,
  session: Session,
  { asksWhereTo = false }: { asksWhereTo?: boolean },
): Promise<void> {
  const { connection } = context;
  const preview = await withProgress(
    'Looking at what there is to land',
    () => connection.request('LandPreview', { session: session.id }),
    'ends-waiting',
  );
  const wish: ParamsOf<'Land'> = { session: session.id };
  refuseWhatIsRefused(preview);
  // What comes to nothing lands nowhere.
  if ((preview.target === null || asksWhereTo) && preview.mayLand !== false) {
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
  // Before anything else: what it comes to is told once.
  const letGo = context.landings.follow(session.id);
  try {
    if (wish.to !== undefined && entry.kept === true) showKeptTarget(preview, wish.to);
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

/** It holds from now on, and nobody would know where it stands. */
function showKeptTarget({ base, remote }: Preview, to: 'local' | 'remote'): void {
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
  const soFar = (to: 'local' | 'remote') => (to === target ? 'as it is now' : '');
  const picked = await vscode.window.showQuickPick(
    [
      ...(remote === null
        ? []
        : [
            {
              label: `$(cloud-upload) Push to ${pickText(`${remote}/${base}`)}`,
              description: soFar('remote'),
              detail: 'The remote base is what counts; your local one follows.',
              to: 'remote' as const,
            },
          ]),
      {
        label: `$(home) Only in this clone`,
        description: soFar('local'),
        detail: `Your local ${pickText(base)} moves; pushing it stays with you.`,
        to: 'local' as const,
      },
    ],
    {
      title: `Where does ${base} land?`,
      placeHolder:
        configured === null
          ? 'Kept for this repository'
          : 'This time only: your configuration says otherwise',
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

/**
 * Shows an entry on its way until it has ended, or waits for the person's word on it. What its agent asks meanwhile is
 * told as any need, and it goes on behind that. Cancel takes it out of the queue.
 */
async function follow(context: Parts, session: Session, queued: QueueEntry): Promise<void> {
  const entry = await showProgress(`Landing "${shortNameOf(session)}"`, async (report, token) => {
    const done = Promise.withResolvers<QueueEntry>();
    const look = (now: QueueEntry) => {
      if (now.id !== queued.id) return;
      report(progressWords(now));
      if (hasEnded(now.state) || isHeldUp(context, now, queued)) done.resolve(now);
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
      context.connection
        .request('Unqueue', { session: session.id })
        .then(look, (error: unknown) => showStillQueued(session, error));
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

function isHeldUp({ fleet }: Parts, entry: QueueEntry, queued: QueueEntry): boolean {
  const session = fleet.get(entry.session);
  return session !== undefined && waitsForPerson(entry, session, queued) === 'landing';
}

/** VS Code has closed the progress by then: without this, it would seem to be taken out. */
function showStillQueued(session: Session, error: unknown): void {
  const failure = failureOf(error);
  // It has ended, and what it came to is told.
  if (failure.code === 'queue.not-queued') return;
  void offer(showError, `Still in the queue: "${shortNameOf(session)}". ${wordsOf(failure)}`, session, {
    'Try Again': 'fairlead.unqueue',
  });
}

function progressWords(entry: QueueEntry): string {
  const place = entry.position !== null && entry.position > 1 ? ` (${entry.position} in line)` : '';
  return entry.message ?? `${entryStateWords(entry.state)}${place}`;
}

async function showOutcome(context: Parts, session: Session, entry: QueueEntry): Promise<void> {
  const where = entry.remote === null ? entry.base : `${entry.remote}/${entry.base}`;
  if (entry.state === 'landed') {
    const note = entry.message === null ? '' : ` ${entry.message}`;
    const text = `Landed on ${where} as ${entry.landed?.slice(0, 10) ?? ''}: "${shortNameOf(session)}".${note}`;
    void offer(showInformation, text, session, { Archive: 'fairlead.archive' });
    return;
  }
  if (entry.state === 'cancelled') {
    void showInformation(`Taken out of the queue: "${shortNameOf(session)}".`);
    return;
  }
  const name = shortNameOf(session);
  const why = `${entry.message ?? entryStateWords(entry.state)}${pathWords(entry)}`;
  // Not waited for: what becomes of the session from here on is told by others.
  if (hasEnded(entry.state)) {
    void offer(showWarning, `Did not land: "${name}". ${why}`, session, {
      'Open Terminal': 'fairlead.openTerminal',
      'Open Changes': 'fairlead.openChanges',
    });
    return;
  }
  const { reason = null } = context.fleet.get(session.id) ?? {};
  const isItsNeed = reason !== null && isOfLanding(reason.kind);
  // What holds it up may be no need of the session.
  const steps = isItsNeed ? nextSteps(reason, entry.id) : (['Land Again', 'Open Terminal'] as const);
  const commands = steps.flatMap((step) => {
    const command = commandOf(step);
    return command === undefined ? [] : [[step, command]];
  });
  void offer(showWarning, `Needs you to land: "${name}". ${why}`, session, Object.fromEntries(commands));
}

/** Those that the message does not name already. */
function pathWords({ paths, message }: QueueEntry): string {
  const unnamed = paths.filter((path) => !` ${message} `.replace(/[.,:;] /g, ' ').includes(` ${path} `));
  return unnamed.length === 0 ? '' : ` (${unnamed.slice(0, 5).join(', ')})`;
}

/** Shows a message with commands for the session, by what the buttons say; each keeps the rules of the command. */
async function offer(
  show: typeof showWarning,
  text: string,
  session: Session,
  commands: Readonly<Record<string, string>>,
): Promise<void> {
  const chosen = await show(text, ...Object.keys(commands));
  const command = chosen === undefined ? undefined : commands[chosen];
  if (command !== undefined) await vscode.commands.executeCommand(command, session.id);
}
