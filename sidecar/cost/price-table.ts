import { FairleadError } from '../protocol/errors.ts';
import * as z from '../protocol/zod.ts';

/** US dollars a million tokens, with at most six decimals: finer ones could not be summed exactly. */
const PerMillion = z.number().check(
  z.nonnegative(),
  z.lte(1_000),
  z.refine((usd) => Math.abs(usd * 1e6 - Math.round(usd * 1e6)) < 1e-4, 'a price has at most six decimals'),
);

const TokenPrices = z.strictObject({
  input: PerMillion,
  output: PerMillion,
  /** Writing to the cache that lives five minutes. */
  cacheWrite5m: PerMillion,
  cacheWrite1h: PerMillion,
  cacheRead: PerMillion,
});
export type TokenPrices = z.infer<typeof TokenPrices>;

const PriceEntry = z.extend(TokenPrices, {
  /** First day (UTC) on which the entry holds. An entry without it holds since ever. */
  from: z.optional(z.iso.date()),
  /** US dollars for one web search. */
  webSearch: z.number().check(z.nonnegative(), z.lte(100)),
  /** Instead of the above for a request whose whole prompt (input, cache writes, cache reads) is larger. */
  long: z.optional(z.extend(TokenPrices, { above: z.int().check(z.positive()) })),
  /** Instead of the above in fast mode. */
  fast: z.optional(TokenPrices),
});
export type PriceEntry = z.infer<typeof PriceEntry>;

/** The shape of price tables: the one that is shipped and those that override it. */
export const PriceTable = z.strictObject({
  source: z.optional(z.string()),
  /** Day on which the table was compared with its source. */
  checked: z.optional(z.iso.date()),
  models: z.record(
    z.string().check(z.minLength(1)),
    z.array(PriceEntry).check(
      z.minLength(1),
      z.refine(
        (entries) => isAscending(entries),
        'entries are ordered by `from`, which only the first may lack',
      ),
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
