import { type Command, Option } from 'commander';
import * as protocol from '../../protocol/protocol.ts';
import { dollars, tokens } from '../../protocol/wording.ts';
import type { Act } from '../act.ts';
import { day, examples, sessionArgument } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { type Output, printable, table } from '../output.ts';

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
  const titles = new Map<string, string>();
  if (!context.output.json && options.by === 'session') {
    const sessions = await sidecar.request(protocol.ListSessions, { archived: true });
    for (const { id, title } of sessions) titles.set(id, title);
  }
  context.output.result(summary, ({ rows, total }) =>
    rows.length === 0
      ? 'Nothing was spent yet.'
      : costTable([...rows, { ...total, group: 'total' }], options.by, titles, context.output),
  );
}

function costTable(
  rows: readonly protocol.CostRow[],
  by: protocol.CostGroup,
  titles: ReadonlyMap<string, string>,
  output: Output,
): string {
  const anyUnpriced = rows.some(({ unpriced }) => unpriced > 0);
  const named = titles.size > 0;
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
      ...(named ? ['TITLE'] : []),
    ],
    rows.map((row) => [
      printable(row.group),
      dollars(row.ownUsd),
      String(row.requests),
      ...[row.inputTokens, row.outputTokens, row.cacheWriteTokens, row.cacheReadTokens].map(tokens),
      ...(anyUnpriced ? [row.unpriced === 0 ? '' : String(row.unpriced)] : []),
      ...(named ? [printable(titles.get(row.group) ?? '')] : []),
    ]),
    output.width,
  );
}
