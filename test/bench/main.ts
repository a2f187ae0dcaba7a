import { parseArgs } from 'node:util';
import { activate } from './activate.ts';
import { setUp } from './setup.ts';
import { type Figure, lineOf } from './support/figure.ts';
import type { Run } from './support/run.ts';
import { Traces } from './support/traces.ts';
import { tree } from './tree.ts';

/**
 * `npm run bench -- NAME… [--json] [--quick]`: runs benchmarks; ends with 1 when the results of both sides differ or a
 * figure is below its floor. With `--quick` each runs once with few sessions, and no figure is held against anything.
 */
const BENCHMARKS: Record<string, (run: Run) => Promise<Figure[]>> = { activate, tree };

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const names = positionals.length > 0 ? positionals : Object.keys(BENCHMARKS);
const unknown = names.filter((name) => BENCHMARKS[name] === undefined);
if (unknown.length > 0) {
  console.error(
    `There is no benchmark ${unknown.join(', ')}; there are ${Object.keys(BENCHMARKS).join(', ')}.`,
  );
  process.exit(2);
}

const missing = await setUp();
if (missing !== undefined) {
  console.error(missing);
  process.exit(1);
}

const traces = new Traces();
for (const [signal, exitCode] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.once(signal, () => process.exit(exitCode));
}
process.once('exit', () => traces.remove());

// What is said on the way goes beside the figures.
const report = (line: string) => console.error(line);
const run: Run = { repeats: values.quick ? 1 : 9, isQuick: values.quick, report };
const figures: Figure[] = [];
for (const name of names) {
  for (const figure of (await BENCHMARKS[name]?.(run)) ?? []) {
    figures.push(figure);
    console.log(values.json ? JSON.stringify(figure) : lineOf(figure));
  }
}
const isBad = ({ ratio, floor, equal }: Figure) =>
  !equal || (!values.quick && floor !== null && ratio < floor);
process.exit(figures.some(isBad) ? 1 : 0);
