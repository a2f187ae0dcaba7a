/** How a benchmark is run. */
export interface Run {
  /** Of each side. */
  repeats: number;
  /** Whether it only shows that the benchmark works: with few sessions. */
  isQuick: boolean;
  /** What is said on the way. */
  report(line: string): void;
}
