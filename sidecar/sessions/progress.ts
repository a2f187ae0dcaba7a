/** Tells whoever waits what is being done. `percentage` is of the whole, from 0 to 100. */
export type Report = (message: string, percentage?: number) => void;

/** Nobody waits. */
export const UNHEARD: Report = () => {};

/**
 * Several pieces of work side by side, reported as one: each step that any of them begins is one of all that there
 * are. `from` is the percentage that was reached before.
 */
export function reportsOf(report: Report, pieces: number, stepsEach: number, from: number): Report[] {
  let begun = 0;
  return Array.from({ length: pieces }, (_, index) => (message: string) => {
    const percentage = from + ((100 - from) * begun) / (pieces * stepsEach);
    begun = Math.min(begun + 1, pieces * stepsEach);
    report(pieces === 1 ? message : `Attempt ${index + 1} of ${pieces}: ${message}`, Math.round(percentage));
  });
}
