import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { RequestScan } from '../../../sidecar/cost/request-scan.ts';
import { family } from './family.ts';
import { readByScan, readPlainly } from './plain-reader.ts';
import { answer, OTHER_LINES } from './transcript-lines.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-scan-'));
  return () => rmSync(folder, { recursive: true, force: true });
});

const spaced = (line: string) => `${JSON.stringify(JSON.parse(line), null, 1).replaceAll('\n', ' ')}\n`;
const inInput = (line: string) =>
  line.replace('"content":[', '"content":[{"type":"tool_use","input":{"usage":{"output_tokens":9}}},');

/** Lines that a reader which looks for bytes could take for others. */
const ODD_LINES = [
  '\n',
  '\r\n',
  'null\n',
  '"usage":{\n',
  '{"type":"user","toolUseResult":{"usage":{"output_tokens":7}},"uuid":"u"}\n',
  '{"type":"assistant","uuid":"u","message":{"id":"m","usage":7}}\n',
  '{"type":"assistant","uuid":"u","message":"usage"}\n',
  '{"usage":{}}\n',
  ...OTHER_LINES,
];

describe('the scan for requests', () => {
  it('finds what a reader finds that parses every line, however the file is cut', () => {
    const line = fc.oneof(
      fc.constantFrom(...ODD_LINES),
      fc
        .record({
          message: fc.constantFrom('m1', 'm2', 'm3'),
          request: fc.option(fc.constantFrom('r1', 'r2'), { nil: undefined }),
          output: fc.integer({ min: 0, max: 99 }),
          sideChain: fc.boolean(),
          paidBy: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
          how: fc.constantFrom(
            (text: string) => text,
            spaced,
            inInput,
            (text: string) => text.replace('"timestamp":"', '"timestamp":"?'),
          ),
        })
        .map(({ how, request, paidBy, ...row }) =>
          how(
            answer({
              session: 'a',
              ...row,
              ...(request === undefined ? {} : { request }),
              ...(paidBy === undefined ? {} : { paidBy }),
            }),
          ),
        ),
    );
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 30 }),
        fc.nat(400),
        fc.integer({ min: 1, max: 3_000 }),
        (lines, torn, stepBytes) => {
          const path = join(folder, 'one.jsonl');
          writeFileSync(path, lines.join(''));
          appendFileSync(path, answer({ message: 'torn', session: 'a' }).slice(0, torn));
          const plain = readPlainly(path);
          const scanned = readByScan(path, stepBytes);
          expect(scanned.requests).toEqual(plain.requests);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('finds what a reader finds that parses every line, in the transcripts of a family', () => {
    fc.assert(
      fc.property(family, fc.integer({ min: 1, max: 3_000 }), ({ files }, stepBytes) => {
        for (const [name, bytes] of files) {
          const path = join(folder, name);
          writeFileSync(path, bytes);
          expect(readByScan(path, stepBytes)).toEqual(readPlainly(path));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('reads past a line that is too long for any row, and counts it as malformed', () => {
    const path = join(folder, 'one.jsonl');
    writeFileSync(path, answer({ message: 'before', session: 'a' }));
    appendFileSync(path, '{"usage":{},"x":[');
    for (let n = 0; n < 65; n += 1) appendFileSync(path, '{"abcd":[]},'.repeat(90_000));
    appendFileSync(path, `1]}\n${answer({ message: 'after', session: 'a' })}`);
    const { requests, uncounted } = readByScan(path, 512 * 1024);
    expect([...requests.values()].map(({ message }) => message)).toEqual(['before', 'after']);
    expect(uncounted).toBe(1);
  });

  it('gives away no more at once than one short transaction takes', () => {
    const lines = Array.from({ length: 3_000 }, (_, n) => answer({ message: `m${n}`, session: 'a' }));
    writeFileSync(join(folder, 'one.jsonl'), lines.join(''));
    const scan = new RequestScan([{ path: join(folder, 'one.jsonl'), from: undefined }]);
    const sizes: number[] = [];
    while (!scan.isDone) {
      scan.step(64 * 1024);
      if (scan.isFull || scan.isDone) sizes.push(scan.take().tellings.length);
    }
    expect(Math.max(...sizes)).toBeLessThan(512);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(3_000);
  });
});
