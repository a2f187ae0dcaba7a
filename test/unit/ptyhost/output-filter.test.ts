import xterm from '@xterm/headless';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OutputFilter } from '../../../sidecar/ptyhost/output-filter.ts';
import { internalsOf } from '../../../sidecar/ptyhost/xterm-internals.ts';

/** Output that is no report, some of it close to one. */
const ordinary = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replace(/[\u0080-\u009f\u001b]/g, '')),
  fc.constantFrom(
    '\u001b[1;31m',
    '\u001b]0;title\u0007',
    '\u001b]8;;x\u001b\\',
    '\u001b]7502;x\u0007',
    '\u001b]750;1\u0007',
    '\u001b]75\u001b[m',
    '\u001b]75010;x\u0007',
    '\u001bP1$r0m\u001b\\',
    '\u001b_apc\u001b\\',
    '\u001b(B',
    '\u001bM',
    '\u009b31m',
    '\u001b[3\u0018x',
    'é漢😀',
    '\u00a0',
    '\u001b\u001b[A',
    '\u001b]0;a\u001bMb',
  ),
);

const state = fc.constantFrom('idle', 'working', 'blocked', 'done', 'error', 'clear');
const report = fc
  .tuple(
    state,
    fc.constantFrom('\u0007', '\u001b\\'),
    fc.constantFrom('\u001b]', '\u009d'),
    fc.string({ maxLength: 20 }),
  )
  .map(([name, terminator, introducer, msg]) => ({
    state: name,
    text: `${introducer}7501;state=${name}:app=a:msg=${Buffer.from(msg).toString('base64')}${terminator}`,
  }));

const stream = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: ordinary.map((text) => ({ state: undefined, text })) },
    { weight: 1, arbitrary: report },
  ),
  { maxLength: 25 },
);

/** `bytes` cut at random places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
}

const cuts = fc.array(fc.nat(), { maxLength: 30 });

describe('the output filter', () => {
  it('takes out every report and nothing else, however the output is cut', () => {
    fc.assert(
      fc.property(stream, cuts, (parts, places) => {
        const filter = new OutputFilter();
        const whole = Buffer.from(parts.map((part) => part.text).join(''));
        const results = cut(whole, places).map((chunk) => filter.push(chunk));
        const passed = Buffer.concat(results.map((result) => result.bytes)).toString('utf8');
        expect(passed).toBe(
          parts
            .filter((part) => part.state === undefined)
            .map((part) => part.text)
            .join(''),
        );
        const states = results.flatMap((result) =>
          result.messages.map((message) => (message.query ? '?' : message.status.state)),
        );
        expect(states).toEqual(parts.map((part) => part.state).filter((name) => name !== undefined));
      }),
      { numRuns: 500 },
    );
  });

  it('says that a parser rests only where the one of xterm.js does', () => {
    const bytes = fc.array(
      fc.oneof(
        fc.constantFrom(
          0x1b,
          0x5b,
          0x5d,
          0x50,
          0x58,
          0x5f,
          0x07,
          0x18,
          0x1a,
          0x5c,
          0xc2,
          0x9b,
          0x9d,
          0x90,
          0x9c,
          0xe6,
          0xbc,
          0xa2,
          0xf0,
          0x9f,
          0x20,
          0x0a,
          0x31,
          0x3b,
          0x6d,
          0x28,
          0x42,
          0x37,
          0x35,
          0x30,
        ),
        fc.nat(255),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(bytes, cuts, (numbers, places) => {
        const filter = new OutputFilter();
        const terminal = new xterm.Terminal({ cols: 20, rows: 5, logLevel: 'off', allowProposedApi: true });
        const parser = internalsOf(terminal)._inputHandler;
        for (const chunk of cut(Buffer.from(numbers), places)) {
          const { bytes: passed, rest } = filter.push(chunk);
          parser.parse(passed.subarray(0, Math.max(rest, 0)));
          if (rest >= 0) expect(parser._parser.currentState).toBe(0);
          parser.parse(passed.subarray(Math.max(rest, 0)));
        }
        terminal.dispose();
      }),
      { numRuns: 500 },
    );
  });

  it('passes on text at once, and keeps back no more than the beginning of an OSC', () => {
    const filter = new OutputFilter();
    expect(filter.push(Buffer.from('abc\u001b]750')).bytes.toString()).toBe('abc');
    expect(filter.push(Buffer.from('2;x\u0007def')).bytes.toString()).toBe('\u001b]7502;x\u0007def');
  });

  it('drops a report that is cancelled, and goes on behind it', () => {
    const filter = new OutputFilter();
    const { bytes, messages } = filter.push(Buffer.from('a\u001b]7501;state=idle\u0018b'));
    expect([bytes.toString(), messages]).toEqual(['ab', []]);
  });

  it('ends a report without a terminator at the next escape sequence, which stays whole', () => {
    const filter = new OutputFilter();
    const first = filter.push(Buffer.from('a\u001b]7501;state=idle\u001b'));
    const second = filter.push(Buffer.from('[31mb'));
    expect(first.bytes.toString() + second.bytes.toString()).toBe('a\u001b[31mb');
    expect(second.messages).toEqual([{ query: false, status: { state: 'idle' } }]);
  });
});
