import { type Command, Option } from 'commander';
import * as protocol from '../../protocol/protocol.ts';
import type { Session } from '../../protocol/session.ts';
import { dollars, tokens } from '../../protocol/wording.ts';
import type { Act } from '../act.ts';
import { day, examples, sessionArgument } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { type Output, printable, table } from '../output.ts';
import { shortNames } from '../short-names.ts';

interface CostOptions {
  by: protocol.CostGroup;
  since?: string;
}

export function addCostCommands(program: Command, act: Act): void {
  program
    .command('cost')
    .description('what sessions cost, from the transcripts of their agents')
    .addArgument(sessionArgument('[session]', 'of this one only'))
    .addOption(
      new Option('--by <group>', 'what to add up').choices(protocol.CostGroup.options).default('session'),
    )
    .option('--since <date>', 'from this day on, YYYY-MM-DD', day('--since'))
    .addHelpText('after', examples('cost', 'cost k3f9 --by model', 'cost --by day --since 2026-01-31'))
    .action(act(cost));
}

async function cost(
  context: CommandContext,
  session: string | undefined,
  options: CostOptions,
): Promise<void> {
  const sidecar = await context.sidecar();
  const summary = await sidecar.request(protocol.CostSummary, {
    ...(session === undefined ? {} : { session }),
    by: options.by,
    ...(options.since === undefined ? {} : { since: options.since }),
  });
  // A family has the id of its first session.
  const isOfSessions = options.by === 'session' || options.by === 'family';
  const sessions =
    context.output.json || !isOfSessions
      ? []
      : await sidecar.request(protocol.ListSessions, { archived: true });
  context.output.result(summary, ({ rows, total }) =>
    rows.length === 0
      ? 'Nothing was spent yet.'
      : costTable([...rows, { ...total, group: 'total' }], options.by, sessions, context.output),
  );
}

function costTable(
  rows: readonly protocol.CostRow[],
  by: protocol.CostGroup,
  sessions: readonly Session[],
  output: Output,
): string {
  const anyUnpriced = rows.some(({ unpriced }) => unpriced > 0);
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const shown = rows.flatMap(({ group }) => byId.get(group) ?? []);
  const named = shown.length > 0;
  const repos = shortNames(shown.map(({ repo }) => repo));
  const severalRepos = repos.size > 1;
  return table(
    [
      by.toUpperCase(),
      'COST',
      'REQUESTS',
      'INPUT',
      'OUTPUT',
      'CACHE+',
      'CACHED',
      ...(anyUnpriced ? ['UNPRICED'] : []),
      ...(severalRepos ? ['REPO'] : []),
      ...(named ? ['TITLE'] : []),
    ],
    rows.map((row) => [
      printable(row.group),
      dollars(row.ownUsd),
      String(row.requests),
      ...[row.inputTokens, row.outputTokens, row.cacheWriteTokens, row.cacheReadTokens].map(tokens),
      ...(anyUnpriced ? [row.unpriced === 0 ? '' : String(row.unpriced)] : []),
      ...(severalRepos ? [printable(repos.get(byId.get(row.group)?.repo ?? '') ?? '')] : []),
      ...(named ? [printable(byId.get(row.group)?.title ?? '')] : []),
    ]),
    output.width,
  );
}
