import { describe, expect, it } from 'vitest';
import { LIST_PRICES } from '../../../sidecar/cost/list-prices.ts';
import { toUsd } from '../../../sidecar/cost/money.ts';
import { PriceTable, parsePriceTable } from '../../../sidecar/cost/price-table.ts';
import { Prices, pricesWith, type Usage } from '../../../sidecar/cost/prices.ts';
import { FairleadError } from '../../../sidecar/protocol/errors.ts';

const MILLION = 1_000_000;

function usage(model: string, counts: Partial<Usage> = {}): Usage {
  return {
    model,
    at: Date.UTC(2026, 10, 1),
    input: 0,
    output: 0,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    cacheRead: 0,
    webSearches: 0,
    speed: 'standard',
    geo: '',
    ...counts,
  };
}

describe('the price of a request', () => {
  const prices = pricesWith();

  it('prices each kind of token by itself', () => {
    const price = (counts: Partial<Usage>) => toUsd(prices.priceOf(usage('claude-opus-5-5', counts)) ?? -1);
    expect(price({ input: MILLION })).toBe(4);
    expect(price({ output: MILLION })).toBe(20);
    expect(price({ cacheWrite5m: MILLION })).toBe(5);
    expect(price({ cacheWrite1h: MILLION })).toBe(8);
    expect(price({ cacheRead: MILLION })).toBe(0.2);
    expect(price({ webSearches: 100 })).toBe(1);
    expect(
      price({
        input: 110,
        output: 1007,
        cacheRead: 40_800,
        cacheWrite5m: 317,
        cacheWrite1h: 500,
        webSearches: 1,
      }),
    ).toBe(0.044325);
  });

  it('finds a model whatever suffix its id carries', () => {
    const expected = prices.priceOf(usage('claude-opus-4-5', { output: 10 }));
    expect(expected).toBe(250_000);
    for (const id of [
      'claude-opus-4-5-20251101',
      'claude-opus-4-5@20251101',
      'claude-opus-4-5[1m]',
      'Claude-Opus-4-5-20251101[1M]',
    ]) {
      expect(prices.priceOf(usage(id, { output: 10 })), id).toBe(expected);
    }
  });

  it('prices the whole of a large request at the higher tier, and that with all of its prompt counted', () => {
    const price = (counts: Partial<Usage>) => prices.priceOf(usage('claude-haiku-5-5', counts));
    expect(price({ input: 100_000, output: 10 })).toBe(100_000 * 100 + 10 * 500);
    expect(price({ input: 100_001, output: 10 })).toBe(100_001 * 500 + 10 * 2_500);
    expect(price({ input: 1, cacheRead: 50_000, cacheWrite5m: 25_000, cacheWrite1h: 25_000 })).toBe(
      500 + 50_000 * 50 + 25_000 * 625 + 25_000 * 1_000,
    );
    // Output is no part of the prompt.
    expect(price({ input: 1, output: 200_000 })).toBe(100 + 200_000 * 500);
  });

  it('takes the prices of the day of the request', () => {
    const read = (day: string) =>
      prices.priceOf(usage('claude-sonnet-5-5', { at: Date.parse(day), cacheRead: 10 }));
    expect(read('2026-10-06T23:59:59.999Z')).toBe(10 * 200);
    expect(read('2026-10-07T00:00:00.000Z')).toBe(10 * 100);
  });

  it('prices fast mode apart, and does not guess where a model has no price for it', () => {
    expect(prices.priceOf(usage('claude-opus-5-5', { output: 1, speed: 'fast' }))).toBe(40_000);
    expect(prices.priceOf(usage('claude-opus-4-7', { output: 1, speed: 'fast' }))).toBe(150_000);
    expect(prices.priceOf(usage('claude-haiku-4-5', { output: 1, speed: 'fast' }))).toBeUndefined();
    expect(prices.priceOf(usage('claude-opus-5-5', { output: 1, speed: 'warp' }))).toBeUndefined();
  });

  it('adds a tenth to the tokens, not to the searches, of a request that stays in the United States', () => {
    const us = prices.priceOf(usage('claude-opus-5', { input: 7, webSearches: 1, geo: 'us' }));
    expect(us).toBe(7 * 5_500 + 10_000_000);
    expect(prices.priceOf(usage('claude-opus-5', { input: 7, geo: 'global' }))).toBe(7 * 5_000);
    // 125 nano-dollars a token and a tenth is 137.5: rounded once, for the request.
    expect(prices.priceOf(usage('claude-haiku-5-5', { cacheWrite5m: 3, geo: 'us' }))).toBe(413);
  });

  it('has no price for a model that it does not know', () => {
    expect(prices.priceOf(usage('claude-nonesuch-9', { input: 5 }))).toBeUndefined();
    expect(prices.priceOf(usage('claude-opus', { input: 5 }))).toBeUndefined();
    expect(prices.priceOf(usage('', { input: 5 }))).toBeUndefined();
  });
});

describe('a price table', () => {
  it('that ships is whole: every entry has every field, and every price is a whole number of pico-dollars', () => {
    const table = PriceTable.parse(LIST_PRICES);
    expect(Object.keys(table.models).length).toBeGreaterThan(20);
    expect(table.source).toBeTruthy();
    expect(table.checked).toBeTruthy();
    const prices = new Prices(table);
    for (const model of prices.models) {
      expect(prices.priceOf(usage(model, { input: 1, output: 1 })), model).toBeGreaterThan(0);
    }
  });

  it('of the person replaces the models that it names and keeps the others', () => {
    const own = parsePriceTable(
      {
        models: {
          'claude-opus-5-5': [
            { input: 1, output: 2, cacheWrite5m: 3, cacheWrite1h: 4, cacheRead: 0.000001, webSearch: 0 },
          ],
          'our-model': [
            { input: 9, output: 9, cacheWrite5m: 9, cacheWrite1h: 9, cacheRead: 9, webSearch: 0 },
          ],
        },
      },
      'config.toml',
    );
    const prices = pricesWith(own);
    expect(prices.priceOf(usage('claude-opus-5-5', { input: 1, cacheRead: 1_000_000 }))).toBe(1_000 + 1_000);
    expect(prices.priceOf(usage('our-model', { input: 1 }))).toBe(9_000);
    expect(prices.priceOf(usage('claude-opus-5', { input: 1 }))).toBe(5_000);
    expect(prices.fingerprint).not.toBe(pricesWith().fingerprint);
    expect(pricesWith().fingerprint).toBe(pricesWith().fingerprint);
  });

  it.each([
    ['lacks a kind', [{ input: 1, output: 1, cacheWrite5m: 1, cacheWrite1h: 1, webSearch: 0 }]],
    ['has a negative price', [{ ...whole(), input: -1 }]],
    ['has a price that is too fine to sum', [{ ...whole(), input: 0.0000001 }]],
    ['has a misspelt key', [{ ...whole(), cacheread: 1 }]],
    [
      'has entries out of order',
      [
        { ...whole(), from: '2026-02-01' },
        { ...whole(), from: '2026-01-01' },
      ],
    ],
    ['has two entries without a day', [whole(), whole()]],
    ['has no entry', []],
  ])('that %s is refused with the file and the reason', (_, entries) => {
    const parse = () => parsePriceTable({ models: { m: entries } }, '/x/config.toml');
    expect(parse).toThrow(FairleadError);
    expect(parse).toThrow(/\/x\/config\.toml/);
  });
});

function whole() {
  return { input: 1, output: 1, cacheWrite5m: 1, cacheWrite1h: 1, cacheRead: 1, webSearch: 0.01 };
}
