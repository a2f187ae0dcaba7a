/** What a benchmark found. `ratio` is written so that more is better, and held against `floor` and `stretch`. */
export interface Figure {
  name: string;
  /** Medians, in milliseconds unless the name says otherwise. */
  ours: number;
  peer: number;
  ratio: number;
  /** Below it the figure is a defect; null where there is only a goal. */
  floor: number | null;
  stretch: number | null;
  /** Whether both sides had the same results. */
  equal: boolean;
  /** Repeats of each side. */
  n: number;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  if (low === undefined || high === undefined) throw new Error('There is no median of nothing.');
  return (low + high) / 2;
}

/** A figure of times: the ratio says how many times faster ours is. */
export function figureOf(
  name: string,
  times: { ours: readonly number[]; peer: readonly number[] },
  held: { floor: number | null; stretch: number | null; equal: boolean },
): Figure {
  const [ours, peer] = [median(times.ours), median(times.peer)];
  return {
    name,
    ours: round(ours),
    peer: round(peer),
    ratio: round(peer / ours),
    ...held,
    n: times.ours.length,
  };
}

export function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

/** One line for people. */
export function lineOf({ name, ours, peer, ratio, floor, stretch, equal, n }: Figure): string {
  const verdict = !equal
    ? 'RESULTS DIFFER'
    : floor !== null && ratio < floor
      ? 'BELOW THE FLOOR'
      : stretch !== null && ratio >= stretch
        ? 'stretch reached'
        : 'ok';
  const limits = `floor ${floor ?? '–'}, stretch ${stretch ?? '–'}`;
  return `${name.padEnd(16)} ${String(ours).padStart(9)} ms  peer ${String(peer).padStart(9)} ms  ratio ${ratio.toFixed(2)} (${limits}; n = ${n})  ${verdict}`;
}
