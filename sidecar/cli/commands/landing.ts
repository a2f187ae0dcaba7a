import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { pathsFor } from '../../platform/paths.ts';
import { LandMethod, LandTarget, type QueueEntry } from '../../protocol/entry.ts';
import { FairleadError } from '../../protocol/errors.ts';
import * as protocol from '../../protocol/protocol.ts';
import { age, entryWords } from '../../protocol/wording.ts';
import type * as z from '../../protocol/zod.ts';
import type { Act } from '../act.ts';
import { examples, filled, line, seconds, sessionArgument } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { entrySentence } from '../entry-sentence.ts';
import { untilSettled } from '../landing-wait.ts';
import { landingSteps, nextSteps, stepsBefore } from '../next-steps.ts';
import { type Output, printable, table } from '../output.ts';
import { choose, confirm, isInteractive } from '../question.ts';
import { shortNames } from '../short-names.ts';

interface LandOptions {
  to?: LandTarget;
  check?: string;
  method?: LandMethod;
  after: string[];
  withLocalCommits: boolean;
  yes: boolean;
  wait: boolean;
  timeout?: number;
}

type LandPreview = z.output<typeof protocol.LandPreview.result>;

/** Commands about the way to the base. */
export function addLandingCommands(program: Command, act: Act): void {
  program
    .command('land')
    .description("put a session's work on its base, through the merge queue")
    .addArgument(sessionArgument())
    .addOption(
      new Option(
        '--to <target>',
        'push to the remote base, or land in this clone only; kept for the repository',
      ).choices(LandTarget.options),
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
    .option('-y, --yes', 'commit uncommitted files in your name without asking', false)
    .option('--no-wait', 'return once the session is queued')
    .option(
      '--timeout <seconds>',
      'stop waiting after so many seconds; it stays queued',
      seconds('--timeout'),
    )
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
  const { output } = context;
  const sidecar = await context.sidecar();
  const preview = await sidecar.request(protocol.LandPreview, { session: name }, context.signal);
  const interactive = isInteractive() && !output.json;
  // Only what the person says is sent: the sidecar keeps it for the repository.
  let { to } = options;
  if (to === undefined && preview.target === null && preview.mayLand !== false && interactive) {
    to = await choose(`Where does ${preview.base} land? Kept for this repository.`, {
      remote: `push to ${preview.remote}`,
      local: 'in this clone only',
    });
  }
  if (!options.yes) await agreeToCommit(preview, interactive, output);
  const entry = await sidecar.request(
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
  if (to !== undefined) tellKept(context, preview, entry, to);
  if (entry.after.length > 0 && !output.json) {
    const entries = await sidecar.request(protocol.ListQueue, { ended: true });
    for (const step of stepsBefore(entry, entries)) output.hint(step);
  }
  if (!options.wait) return output.result(entry, sentence);
  const settled = await untilSettled(context, sidecar, entry, options.timeout);
  output.result(settled.entry, sentence);
  const { reason } = settled.session;
  const isHandedBack = settled.entry.state === 'handed-back' && reason?.kind !== 'conflict';
  const asks = (settled.entry.reason === 'in-a-turn' || isHandedBack) && reason !== null;
  for (const step of asks ? nextSteps(settled.session) : []) output.hint(step);
  for (const step of landingSteps(settled.entry, settled.session.facts)) output.hint(step);
  if (settled.entry.state !== 'landed') process.exitCode = 1;
}

/**
 * What the agent left uncommitted is committed in the person's name: by their word, or by their configuration.
 * @throws FairleadError `land.uncommitted` with the paths when nobody can be asked; `cancelled`
 */
async function agreeToCommit(preview: LandPreview, interactive: boolean, output: Output): Promise<void> {
  const { uncommitted, policy } = preview;
  // The sidecar refuses them by itself when it is told to.
  if (uncommitted.length === 0 || policy === 'refuse') return;
  const list = uncommitted.map((path) => `  ${printable(path)}`).join('\n');
  if (policy === null && !interactive) {
    const files = uncommitted.length === 1 ? '1 file is' : `${uncommitted.length} files are`;
    throw new FairleadError('land.uncommitted', `${files} not committed.`, {
      hint: 'Commit them with --yes, which uses your name; always so: [land] uncommitted = "commit" in config.toml.',
      data: uncommitted,
    });
  }
  output.note(`Uncommitted, to be committed on the branch first:\n${list}`);
  if (policy === null && !(await confirm('Commit them and land?'))) {
    throw new FairleadError('cancelled', 'Nothing was landed.');
  }
}

/** Where a repository lands is asked once: whoever answers is to know that it holds from then on, and where it stands. */
function tellKept(
  { output, environment }: CommandContext,
  { base, remote, configured }: LandPreview,
  { kept = false }: QueueEntry,
  to: LandTarget,
): void {
  const file = join(pathsFor(environment).home, 'config.toml');
  if (configured !== null) {
    if (to !== configured) output.note(`note: This time only: [land] to is "${configured}" in ${file}.`);
    return;
  }
  // A turn that runs may come to nothing: then it was for this time.
  if (!kept) return;
  const where = to === 'remote' ? `on ${remote}` : 'in this clone only';
  output.note(
    `note: ${base} lands ${where} from now on: kept for this repository until you give another --to, ` +
      `or set [land] to in ${file}.`,
  );
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
  const repos = shortNames(entries.map(({ repo }) => repo));
  const severalRepos = repos.size > 1;
  return table(
    ['#', 'SESSION', ...(severalRepos ? ['REPO'] : []), 'BASE', 'STATE', 'AGE', 'TITLE'],
    entries.map((entry) => [
      entry.position === null ? '' : String(entry.position),
      entry.session,
      ...(severalRepos ? [printable(repos.get(entry.repo) ?? '')] : []),
      entry.remote === null ? entry.base : `${entry.remote}/${entry.base}`,
      entryWords(entry) + tryWords(entry),
      age(entry.queuedAt, now),
      printable(
        // That it was taken out is its state.
        entry.message === null || entry.state === 'cancelled'
          ? entry.title
          : `${entry.title} · ${entry.message}`,
      ),
    ]),
    output.width,
  );
}

/** That it is not its first try. */
function tryWords({ handBack }: QueueEntry): string {
  return handBack === null || handBack.try === 1 ? '' : ` (try ${handBack.try} of ${handBack.maxTries})`;
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
  if (text !== '') return;
  context.output.note(
    other === undefined
      ? `${name} has changed nothing since it left its base.`
      : `The work of ${name} and of ${other} is the same.`,
  );
}

function sentence(entry: QueueEntry): string {
  return `${entry.session} "${printable(entry.title)}" ${entrySentence(entry)}`;
}
