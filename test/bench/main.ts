import { parseArgs } from 'node:util';
import { activate } from './activate.ts';
import { type Figure, lineOf } from './support/figure.ts';
import { tree } from './tree.ts';

/** `npm run bench -- NAME… [--json]`: runs benchmarks; ends with 1 when a figure is below its floor. */
const BENCHMARKS: Record<string, (report: (line: string) => void) => Promise<Figure[]>> = { activate, tree };

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false } },
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
const figures: Figure[] = [];
for (const name of names) {
  // What is said on the way goes beside the figures.
  for (const figure of (await BENCHMARKS[name]?.((line) => console.error(line))) ?? []) {
    figures.push(figure);
    console.log(values.json ? JSON.stringify(figure) : lineOf(figure));
  }
}
const isBad = ({ ratio, floor, equal }: Figure) => !equal || (floor !== null && ratio < floor);
process.exit(figures.some(isBad) ? 1 : 0);
