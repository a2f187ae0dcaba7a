import { type Command, Option } from 'commander';
import { FINAL_ENTRY_STATES, LandMethod, LandTarget, type QueueEntry } from '../../protocol/entry.ts';
import { FairleadError } from '../../protocol/errors.ts';
import * as protocol from '../../protocol/protocol.ts';
import { age } from '../../protocol/wording.ts';
import type { Act } from '../act.ts';
import { examples, filled, line, sessionArgument } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { entrySentence } from '../entry-sentence.ts';
import { landingSteps } from '../next-steps.ts';
import { type Output, printable, table } from '../output.ts';
import { choose, confirm, isInteractive } from '../question.ts';
import type { SidecarConnection } from '../sidecar-connection.ts';

interface LandOptions {
  to?: LandTarget;
  check?: string;
  method?: LandMethod;
  after: string[];
  withLocalCommits: boolean;
  yes: boolean;
  wait: boolean;
}

/** Commands about the way to the base. */
export function addLandingCommands(program: Command, act: Act): void {
  program
    .command('land')
    .description("put a session's work on its base, through the merge queue")
    .addArgument(sessionArgument())
    .addOption(
      new Option('--to <target>', 'push to the remote base, or land in this clone only').choices(
        LandTarget.options,
      ),
    )
    .option('--check <command>', 'shell command that must succeed on the merged tree', filled('--check'))
    .addOption(new Option('--method <method>', 'how the base takes the work').choices(LandMethod.options))
    .option(
      '--after <session>',
      'land only once that session has landed; may be given several times',
      (name: string, names: string[]) => [...names, line('--after', 300)(name)],
      [],
    )
    .option('--with-local-commits', 'take commits along that the local base has and the remote lacks', false)
    .option('-y, --yes', 'commit uncommitted files without asking', false)
    .option('--no-wait', 'return once the session is queued')
    .addHelpText('after', examples('land k3f9 --check "npm test"', 'land k3f9 --to local --yes --no-wait'))
    .action(act(land));

  program
    .command('queue')
    .description('the land order')
    .option('--base <branch>', 'of one base only', line('--base', 300))
    .option('--all', 'entries that have ended too', false)
    .addHelpText('after', examples('queue', 'queue --all'))
    .action(act(queue));

  program
    .command('unqueue')
    .description('take a session out of the land order')
    .addArgument(sessionArgument())
    .addHelpText('after', examples('unqueue k3f9'))
    .action(act(unqueue));

  program
    .command('diff')
    .description(
      'what a session changed since it left its base, or how another differs; uncommitted work counts',
    )
    .addArgument(sessionArgument())
    .addArgument(sessionArgument('[other]', 'show instead what turns its work into that of this session'))
    .option('--stat', 'files and counts only', false)
    .addHelpText('after', examples('diff k3f9', 'diff k3f9 --stat', 'diff k3f9 m2p4'))
    .action(act(diff));
}

async function land(context: CommandContext, name: string, options: LandOptions): Promise<void> {
  const sidecar = await context.sidecar();
  const preview = await sidecar.request(protocol.LandPreview, { session: name }, context.signal);
  const interactive = isInteractive() && !context.output.json;
  // Only what the person says is sent: the sidecar keeps it for the repository.
  let { to } = options;
  if (to === undefined && preview.target === null && interactive) {
    to = await choose(`Where does ${preview.base} land? Kept for this repository.`, {
      remote: `push to ${preview.remote}`,
      local: 'in this clone only',
    });
  }
  if (preview.uncommitted.length > 0 && !options.yes) {
    context.output.note(
      `Uncommitted, to be committed on the branch first:\n${preview.uncommitted.map((path) => `  ${printable(path)}`).join('\n')}`,
    );
    if (interactive && !(await confirm('Commit them and land?'))) {
      throw new FairleadError('cancelled', 'Nothing was landed.');
    }
  }
  let entry = await sidecar.request(
    protocol.Land,
    {
      session: name,
      ...(to === undefined ? {} : { to }),
      ...(options.check === undefined ? {} : { check: options.check }),
      ...(options.method === undefined ? {} : { method: options.method }),
      after: options.after,
      withLocalCommits: options.withLocalCommits,
    },
    context.signal,
  );
  if (options.wait) {
    entry = await ended(context, sidecar, entry);
  }
  context.output.result(entry, () => sentence(entry));
  for (const step of landingSteps(entry)) context.output.hint(step);
  if (options.wait && entry.state !== 'landed') process.exitCode = 1;
}

/**
 * Waits until an entry has ended, and says how it gets there.
 * @throws FairleadError `daemon.lost`, `cancelled`
 */
async function ended(
  context: CommandContext,
  sidecar: SidecarConnection,
  entry: QueueEntry,
): Promise<QueueEntry> {
  const last = Promise.withResolvers<QueueEntry>();
  let told = '';
  const look = (now: QueueEntry | undefined) => {
    if (now?.id !== entry.id) return;
    if (FINAL_ENTRY_STATES.includes(now.state)) last.resolve(now);
    const line = now.message === null ? now.state : `${now.state}: ${printable(now.message)}`;
    if (line !== told) context.output.note(line);
    told = line;
  };
  const onAbort = () => last.reject(new FairleadError('cancelled', 'Cancelled.'));
  context.signal.addEventListener('abort', onAbort, { once: true });
  sidecar.onNotification(protocol.EntryChanged, look);
  try {
    await sidecar.request(protocol.FollowEvents, { after: Number.MAX_SAFE_INTEGER }, context.signal);
    // What happened before it was followed.
    const entries = await sidecar.request(protocol.ListQueue, { ended: true }, context.signal);
    look(entries.find(({ id }) => id === entry.id));
    const lost = sidecar.ended().then((): never => {
      throw new FairleadError('daemon.lost', 'The sidecar ended while the command ran.', {
        hint: 'It stays queued. See how it gets on: fairlead queue',
      });
    });
    return await Promise.race([last.promise, lost]);
  } finally {
    context.signal.removeEventListener('abort', onAbort);
  }
}

async function queue(context: CommandContext, options: { base?: string; all: boolean }): Promise<void> {
  const sidecar = await context.sidecar();
  const entries = await sidecar.request(protocol.ListQueue, {
    ...(options.base === undefined ? {} : { base: options.base }),
    ended: options.all,
  });
  context.output.result(entries, () =>
    entries.length === 0 ? 'Nothing is queued.' : queueTable(entries, context.output, context.now()),
  );
}

/** The land order as people read it. */
export function queueTable(entries: readonly QueueEntry[], output: Output, now: number): string {
  return table(
    ['#', 'SESSION', 'BASE', 'STATE', 'AGE', 'TITLE'],
    entries.map((entry) => [
      entry.position === null ? '' : String(entry.position),
      entry.session,
      entry.remote === null ? entry.base : `${entry.remote}/${entry.base}`,
      entry.reason === null ? entry.state : `${entry.state}: ${entry.reason}`,
      age(entry.queuedAt, now),
      printable(entry.message === null ? entry.title : `${entry.title} · ${entry.message}`),
    ]),
    output.width,
  );
}

async function unqueue(context: CommandContext, name: string): Promise<void> {
  const sidecar = await context.sidecar();
  const entry = await sidecar.request(protocol.Unqueue, { session: name }, context.signal);
  context.output.result(entry, sentence);
}

async function diff(
  context: CommandContext,
  name: string,
  other: string | undefined,
  options: { stat: boolean },
): Promise<void> {
  const sidecar = await context.sidecar();
  const { text } = await sidecar.request(
    protocol.Diff,
    { session: name, ...(other === undefined ? {} : { against: other }), stat: options.stat },
    context.signal,
  );
  context.output.result({ text }, () => context.output.untrusted(text));
}

function sentence(entry: QueueEntry): string {
  return `${entry.session} "${printable(entry.title)}" ${entrySentence(entry)}`;
}
