import type { PriceEntry, PriceTable, TokenPrices } from './price-table.ts';

function tokens(
  input: number,
  output: number,
  cacheWrite5m: number,
  cacheWrite1h: number,
  cacheRead: number,
): TokenPrices {
  return { input, output, cacheWrite5m, cacheWrite1h, cacheRead };
}

/** A search costs the same with every model. */
function entry(prices: TokenPrices, more: Pick<PriceEntry, 'from' | 'long' | 'fast'> = {}): PriceEntry {
  return { ...prices, webSearch: 0.01, ...more };
}

// Several models cost the same; a price is named by its input and output.
const P2_10 = tokens(2, 10, 2.5, 4, 0.2);
const P3_15 = tokens(3, 15, 3.75, 6, 0.3);
const P5_25 = tokens(5, 25, 6.25, 10, 0.5);
const P8_40 = tokens(8, 40, 10, 16, 0.2);
const P10_50 = tokens(10, 50, 12.5, 20, 1);
const P15_75 = tokens(15, 75, 18.75, 30, 1.5);
const P10_50_CHEAP_READ = tokens(10, 50, 12.5, 20, 0.25);
const P30_150 = tokens(30, 150, 37.5, 60, 3);
const P16_80 = tokens(16, 80, 20, 32, 0.4);

/** List prices in US dollars a million tokens. */
export const LIST_PRICES: PriceTable = {
  source:
    'List prices of the Anthropic API, as the model catalog of Claude Code 2.1.332 has them; compared with the costs that it reports.',
  checked: '2026-11-30',
  models: {
    'claude-3-5-haiku': [entry(tokens(0.8, 4, 1, 1.6, 0.08))],
    'claude-haiku-4-5': [entry(tokens(1, 5, 1.25, 2, 0.1))],
    'claude-haiku-5-5': [
      entry(tokens(0.1, 0.5, 0.125, 0.2, 0.01), {
        long: { above: 100_000, ...tokens(0.5, 2.5, 0.625, 1, 0.05) },
      }),
    ],
    'claude-3-5-sonnet': [entry(P3_15)],
    'claude-3-7-sonnet': [entry(P3_15)],
    'claude-sonnet-4': [entry(P3_15)],
    'claude-sonnet-4-0': [entry(P3_15)],
    'claude-sonnet-4-5': [entry(P3_15)],
    'claude-sonnet-4-6': [entry(P3_15)],
    'claude-sonnet-5': [entry(P2_10)],
    'claude-sonnet-5-5': [entry(P2_10), entry({ ...P2_10, cacheRead: 0.1 }, { from: '2026-10-07' })],
    'claude-opus-4': [entry(P15_75)],
    'claude-opus-4-0': [entry(P15_75)],
    'claude-opus-4-1': [entry(P15_75)],
    'claude-opus-4-5': [entry(P5_25)],
    'claude-opus-4-6': [entry(P5_25, { fast: P30_150 })],
    'claude-opus-4-7': [entry(P5_25, { fast: P30_150 })],
    'claude-opus-4-8': [entry(P5_25, { fast: P10_50 })],
    'claude-opus-5': [entry(P5_25, { fast: P10_50 })],
    'claude-opus-5-5': [entry(tokens(4, 20, 5, 8, 0.2), { fast: tokens(8, 40, 10, 16, 0.4) })],
    'claude-fable-5': [entry(P10_50)],
    'claude-fable-5-1': [entry(P10_50_CHEAP_READ)],
    'claude-fable-5-2': [entry(P8_40, { fast: P16_80 })],
    'claude-mythos-5': [entry(P10_50)],
    'claude-mythos-5-1': [entry(P10_50_CHEAP_READ)],
    'claude-mythos-5-2': [entry(P8_40, { fast: P16_80 })],
  },
};
