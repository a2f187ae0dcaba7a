/**
 * Money is counted in whole nano-dollars (10⁻⁹ USD) in a safe integer, so that sums are exact up to nine million
 * dollars. One token at 1 USD a million is 1,000 of them.
 */
export type NanoDollars = number;

/** For what people and programs read; nothing is added up after this. */
export function toUsd(nano: NanoDollars): number {
  return nano / 1e9;
}
