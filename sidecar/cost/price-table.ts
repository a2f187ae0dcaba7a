import * as z from 'zod';
import { FairleadError } from '../protocol/errors.ts';

/** US dollars a million tokens, with at most six decimals: finer ones could not be summed exactly. */
const PerMillion = z
  .number()
  .nonnegative()
  .max(1_000)
  .refine((usd) => Math.abs(usd * 1e6 - Math.round(usd * 1e6)) < 1e-4, 'a price has at most six decimals');

const TokenPrices = z.strictObject({
  input: PerMillion,
  output: PerMillion,
  /** Writing to the cache that lives five minutes. */
  cacheWrite5m: PerMillion,
  cacheWrite1h: PerMillion,
  cacheRead: PerMillion,
});
export type TokenPrices = z.infer<typeof TokenPrices>;

const PriceEntry = TokenPrices.extend({
  /** First day (UTC) on which the entry holds. An entry without it holds since ever. */
  from: z.iso.date().optional(),
  /** US dollars for one web search. */
  webSearch: z.number().nonnegative().max(100),
  /** Instead of the above for a request whose whole prompt (input, cache writes, cache reads) is larger. */
  long: TokenPrices.extend({ above: z.int().positive() }).optional(),
  /** Instead of the above in fast mode. */
  fast: TokenPrices.optional(),
});
export type PriceEntry = z.infer<typeof PriceEntry>;

/** The shape of price tables: the one that is shipped and those that override it. */
export const PriceTable = z.strictObject({
  source: z.string().optional(),
  /** Day on which the table was compared with its source. */
  checked: z.iso.date().optional(),
  models: z.record(
    z.string().min(1),
    z
      .array(PriceEntry)
      .min(1)
      .refine(
        (entries) => isAscending(entries),
        'entries are ordered by `from`, which only the first may lack',
      ),
  ),
});
export type PriceTable = z.infer<typeof PriceTable>;

/**
 * Reads a table that a person wrote.
 * @param name the file, for the message
 * @throws FairleadError `config.invalid`
 */
export function parsePriceTable(value: unknown, name: string): PriceTable {
  const parsed = PriceTable.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new FairleadError(
    'config.invalid',
    `The prices in ${name} cannot be used: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`,
    {
      hint: 'Give US dollars a million tokens for input, output, cacheWrite5m, cacheWrite1h and cacheRead, and for one webSearch.',
    },
  );
}

function isAscending(entries: readonly PriceEntry[]): boolean {
  return entries.every((entry, index) => {
    const before = entries[index - 1];
    if (before === undefined) return true;
    return entry.from !== undefined && (before.from === undefined || before.from < entry.from);
  });
}
