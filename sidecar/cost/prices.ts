import { createHash } from 'node:crypto';
import { LIST_PRICES } from './list-prices.ts';
import type { NanoDollars } from './money.ts';
import type { PriceEntry, PriceTable, TokenPrices } from './price-table.ts';

/** What was used of a model in one request. Counts of tokens are whole and not negative. */
export interface Usage {
  model: string;
  /** Milliseconds since the epoch: prices are those of that day. */
  at: number;
  input: number;
  output: number;
  cacheWrite5m: number;
  cacheWrite1h: number;
  cacheRead: number;
  webSearches: number;
  /** `standard` or `fast`, as the API says in `usage.speed`. */
  speed: string;
  /** Where the request was processed, as the API says in `usage.inference_geo`; empty when it does not. */
  geo: string;
}

/** Pico-dollars: with six decimals a million, the price of one token is whole. */
const PICO_PER_NANO = 1_000;
/** Requests that must stay in the United States cost a tenth more; searches do not. Source: Claude Code 2.1.332. */
const US_ONLY_TENTHS = 11;

/** Dated prices of models. Immutable. */
export class Prices {
  /** Differs when any price differs: what was priced with another table is priced again. */
  readonly fingerprint: string;
  readonly #models: ReadonlyMap<string, readonly PriceEntry[]>;

  constructor(table: PriceTable) {
    this.#models = new Map(
      Object.entries(table.models).map(([id, entries]) => [modelKey(id), entries] as const),
    );
    this.fingerprint = createHash('sha256').update(JSON.stringify(table.models)).digest('hex').slice(0, 16);
  }

  /** Models by the id under which they are looked up. */
  get models(): string[] {
    return [...this.#models.keys()];
  }

  /**
   * The list price of one request. A tier holds for the whole request, so requests are priced one by one.
   * Rounded to a whole nano-dollar only where the price is finer than that.
   * @returns undefined when the model, or its speed, has no price: *unpriced*, which is not 0
   */
  priceOf(usage: Usage): NanoDollars | undefined {
    const entry = this.#entryAt(usage.model, usage.at);
    const rates = entry === undefined ? undefined : ratesFor(entry, usage);
    if (entry === undefined || rates === undefined) return undefined;
    const tokens =
      usage.input * pico(rates.input) +
      usage.output * pico(rates.output) +
      usage.cacheWrite5m * pico(rates.cacheWrite5m) +
      usage.cacheWrite1h * pico(rates.cacheWrite1h) +
      usage.cacheRead * pico(rates.cacheRead);
    const placed = usage.geo === 'us' ? (tokens * US_ONLY_TENTHS) / 10 : tokens;
    return Math.round(placed / PICO_PER_NANO) + usage.webSearches * Math.round(entry.webSearch * 1e9);
  }

  #entryAt(model: string, at: number): PriceEntry | undefined {
    return this.#models
      .get(modelKey(model))
      ?.findLast((entry) => entry.from === undefined || Date.parse(entry.from) <= at);
  }
}

/** What ships with Fairlead, with the person's own prices in place of those of the same models. */
export function pricesWith(override: PriceTable = { models: {} }): Prices {
  const models = new Map(Object.entries(LIST_PRICES.models).map(([id, entries]) => [modelKey(id), entries]));
  for (const [id, entries] of Object.entries(override.models)) models.set(modelKey(id), entries);
  return new Prices({ models: Object.fromEntries(models) });
}

/** `claude-opus-4-5-20251101`, `claude-opus-4-5@20251101` and `claude-opus-4-5[1m]` cost as `claude-opus-4-5`. */
function modelKey(model: string): string {
  return model
    .trim()
    .toLowerCase()
    .replace(/\[[^\]]*\]$/, '')
    .replace(/[-@]\d{8}$/, '');
}

function ratesFor(entry: PriceEntry, usage: Usage): TokenPrices | undefined {
  if (usage.speed === 'fast') return entry.fast;
  if (usage.speed !== 'standard') return undefined;
  const prompt = usage.input + usage.cacheWrite5m + usage.cacheWrite1h + usage.cacheRead;
  return entry.long !== undefined && prompt > entry.long.above ? entry.long : entry;
}

function pico(usdPerMillion: number): number {
  return Math.round(usdPerMillion * 1e6);
}
