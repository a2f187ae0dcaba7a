import { type Command, InvalidArgumentError, Option } from 'commander';
import * as protocol from '../../protocol/protocol.ts';
import type { Act } from '../act.ts';
import type { CommandContext } from '../context.ts';
import { dollars, printable, table } from '../output.ts';

interface CostOptions {
  by: protocol.CostGroup;
  since?: string;
}

export function addCostCommands(program: Command, act: Act): void {
  program
    .command('cost')
    .description('what sessions cost, from the transcripts of their agents')
    .argument('[session]')
    .addOption(
      new Option('--by <group>', 'what to add up').choices(protocol.CostGroup.options).default('session'),
    )
    .option('--since <date>', 'from this day on, YYYY-MM-DD', day)
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
  context.output.result(summary, ({ rows, total }) =>
    table(
      [
        options.by.toUpperCase(),
        'COST',
        'REQUESTS',
        'INPUT',
        'OUTPUT',
        'CACHE WRITE',
        'CACHE READ',
        'UNPRICED',
      ],
      [...rows, { ...total, group: 'total' }].map((row) => [
        printable(row.group),
        dollars(row.ownUsd),
        ...[row.requests, row.inputTokens, row.outputTokens, row.cacheWriteTokens, row.cacheReadTokens].map(
          String,
        ),
        row.unpriced === 0 ? '' : `${row.unpriced} requests`,
      ]),
      context.output.width,
    ),
  );
}

function day(text: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) throw new InvalidArgumentError('It is a day as YYYY-MM-DD.');
  return text;
}
