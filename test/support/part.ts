/** What a test needs of something larger. */
export function part<Whole>(some: object): Whole {
  return some as Whole;
}
