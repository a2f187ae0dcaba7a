import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readTranscript, type TranscriptPosition } from '../../../../sidecar/agents/claude/transcript.ts';
import { foldHints, NO_HINTS } from '../../../../sidecar/agents/claude/transcript-hints.ts';
import {
  findSubagentTranscripts,
  findTranscript,
} from '../../../../sidecar/agents/claude/transcript-path.ts';
import { parseRow } from '../../../../sidecar/agents/claude/transcript-row.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-transcript-'));
  file = join(folder, 't.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const base = (n: number) => ({
  parentUuid: n === 0 ? null : `u${n - 1}`,
  isSidechain: false,
  uuid: `u${n}`,
  timestamp: new Date(1_000 * n).toISOString(),
  cwd: '/w/a',
  sessionId: 'one',
  gitBranch: 'fairlead/a',
});
const said = (n: number, content: unknown, more: object = {}) =>
  JSON.stringify({ ...base(n), type: 'user', message: { role: 'user', content }, promptId: 'p', ...more });
const answered = (n: number, block: object, more: object = {}) =>
  JSON.stringify({
    ...base(n),
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-5-5',
      content: [block],
      stop_reason: 'tool_use',
      usage: {
        input_tokens: 3,
        output_tokens: 42,
        cache_read_input_tokens: 2_000,
        cache_creation_input_tokens: 1_000,
        cache_creation: { ephemeral_5m_input_tokens: 400, ephemeral_1h_input_tokens: 600 },
        server_tool_use: { web_search_requests: 2 },
        service_tier: 'standard',
        speed: 'fast',
        inference_geo: '',
      },
    },
    requestId: 'req_1',
    type: 'assistant',
    ...more,
  });

describe('a row', () => {
  test('of the person is a prompt', () => {
    expect(parseRow(said(0, 'add a greeting'))).toEqual({
      kind: 'prompt',
      uuid: 'u0',
      parentUuid: null,
      sessionId: 'one',
      at: 0,
      cwd: '/w/a',
      gitBranch: 'fairlead/a',
      isSidechain: false,
      agentId: null,
      text: 'add a greeting',
      promptId: 'p',
      isMeta: false,
    });
  });

  test('of an answer carries the whole usage', () => {
    const row = parseRow(answered(1, { type: 'text', text: 'Hello.' }, { requestSessionId: 'parent' }));
    expect(row).toMatchObject({
      kind: 'response',
      messageId: 'msg_1',
      requestId: 'req_1',
      requestSessionId: 'parent',
      model: 'claude-opus-5-5',
      stopReason: 'tool_use',
      text: 'Hello.',
      usage: {
        input: 3,
        output: 42,
        cacheRead: 2_000,
        cacheWrite5m: 400,
        cacheWrite1h: 600,
        webSearches: 2,
        speed: 'fast',
        serviceTier: 'standard',
        inferenceGeo: null,
      },
    });
  });

  test('of an answer without the split of cache writes counts them as five-minute ones', () => {
    const line = answered(1, { type: 'text', text: '' }).replace(/"cache_creation":\{[^}]*\},/, '');
    expect(parseRow(line)).toMatchObject({ usage: { cacheWrite5m: 1_000, cacheWrite1h: 0 } });
  });

  test('of an answer with a tool names the call', () => {
    const row = parseRow(answered(1, { type: 'tool_use', id: 't1', name: 'Bash', input: {} }));
    expect(row).toMatchObject({ kind: 'response', text: null, toolCalls: [{ id: 't1', name: 'Bash' }] });
  });

  test('of an API error is no answer', () => {
    const line = answered(
      1,
      { type: 'text', text: 'API Error: 500' },
      { isApiErrorMessage: true, error: 'server_error' },
    );
    expect(parseRow(line)).toMatchObject({
      kind: 'api-error',
      error: 'server_error',
      text: 'API Error: 500',
    });
  });

  test.each([
    ['[Request interrupted by user]', false],
    ['[Request interrupted by user for tool use]', true],
  ])('%s is an interruption', (text, duringTool) => {
    expect(parseRow(said(1, [{ type: 'text', text }]))).toMatchObject({ kind: 'interrupt', duringTool });
  });

  test('that quotes an interruption is a prompt', () => {
    expect(parseRow(said(1, 'what is [Request interrupted by user]?'))).toMatchObject({ kind: 'prompt' });
  });

  test('of a tool result names the call', () => {
    const line = said(2, [{ type: 'tool_result', tool_use_id: 't1', content: 'no', is_error: true }]);
    expect(parseRow(line)).toMatchObject({ kind: 'tool-result', toolUseId: 't1', isError: true });
  });

  test('of an unknown type is kept as other, and what is no JSON is none', () => {
    expect(parseRow('{"type":"of-tomorrow","sessionId":"one"}')).toEqual({
      kind: 'other',
      type: 'of-tomorrow',
      sessionId: 'one',
    });
    expect(parseRow('{"type":"user","uu')).toBeUndefined();
    expect(parseRow('7')).toBeUndefined();
  });
});

describe('a transcript', () => {
  test('is read on from where it ended, and a torn line waits', () => {
    writeFileSync(file, `${said(0, 'one')}\n${said(1, 'two').slice(0, 50)}`);
    const first = readTranscript(file, undefined);
    expect(first?.rows).toMatchObject([{ kind: 'prompt', text: 'one', offset: 0 }]);
    appendFileSync(file, `${said(1, 'two').slice(50)}\n`);
    const second = readTranscript(file, first?.position);
    expect(second?.rows).toMatchObject([{ kind: 'prompt', text: 'two' }]);
    expect(second?.restarted).toBe(false);
    expect(readTranscript(file, second?.position)?.rows).toEqual([]);
  });

  test('that does not exist yet is undefined', () => {
    expect(readTranscript(file, undefined)).toBeUndefined();
    expect(readTranscript(folder, undefined)).toBeUndefined();
  });

  test.each([
    ['truncated', () => truncateSync(file, 0)],
    [
      'replaced',
      () => {
        writeFileSync(`${file}.new`, `${said(0, 'another')}\n${said(1, 'and another')}\n`);
        renameSync(`${file}.new`, file);
      },
    ],
    [
      'written anew in place',
      () =>
        writeFileSync(file, `${said(5, 'other text')}\n${said(6, 'long enough')}\n${said(7, 'to go on')}\n`),
    ],
  ])('that was %s is read from the start', (_, change) => {
    writeFileSync(file, `${said(0, 'one')}\n${said(1, 'two')}\n`);
    const before = readTranscript(file, undefined);
    change();
    const after = readTranscript(file, before?.position);
    expect(after?.restarted).toBe(true);
    expect(after?.rows.every((row) => row.kind === 'prompt' && !['one', 'two'].includes(row.text))).toBe(
      true,
    );
  });

  test('is read past lines that are broken', () => {
    writeFileSync(file, `${said(0, 'one')}\n{"type":"us\n\n${said(1, 'two')}\n`);
    const read = readTranscript(file, undefined);
    expect(read?.rows).toHaveLength(2);
    expect(read?.malformed).toBe(1);
  });

  test('for its usage only gives the answers', () => {
    const quote = said(2, 'a text with "usage":{"input_tokens":9} in it');
    writeFileSync(
      file,
      `{"type":"api-request-blob","x":1}\n${said(0, 'one')}\n${answered(1, { type: 'text', text: 'A' })}\n${quote}\n${answered(3, { type: 'text', text: 'B' })}\n`,
    );
    expect(readTranscript(file, undefined, { only: 'usage' })?.rows.map((row) => row.kind)).toEqual([
      'response',
      'response',
    ]);
  });

  test('gives the same rows however it is cut into reads', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { minLength: 1, maxLength: 12 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
        fc.integer({ min: 1, max: 400 }),
        (texts, cuts, maxBytes) => {
          const whole = Buffer.from(texts.map((text, n) => `${said(n, text)}\n`).join(''));
          const ends = [...cuts.map((cut) => Math.floor(cut * whole.length)), whole.length].sort(
            (a, b) => a - b,
          );
          rmSync(file, { force: true });
          let position: TranscriptPosition | undefined;
          let written = 0;
          const found: unknown[] = [];
          for (const end of ends) {
            appendFileSync(file, whole.subarray(written, end));
            written = end;
            for (let more = true; more; ) {
              const read = readTranscript(file, position, { maxBytes });
              expect(read?.restarted).toBe(false);
              for (const row of read?.rows ?? []) if (row.kind === 'prompt') found.push(row.text);
              position = read?.position;
              more = read?.more === true;
            }
          }
          expect(found).toEqual(texts);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('hints', () => {
  test('keep the newest of each kind', () => {
    const rows = [
      said(1, 'one'),
      answered(2, { type: 'tool_use', id: 't1', name: 'Bash', input: {} }),
      said(3, [{ type: 'tool_result', tool_use_id: 't1', content: '' }]),
      said(4, [{ type: 'text', text: '[Request interrupted by user]' }]),
    ].flatMap((line) => parseRow(line) ?? []);
    expect(foldHints(NO_HINTS, rows)).toEqual({
      ...NO_HINTS,
      promptAt: 1_000,
      activityAt: 3_000,
      interruptAt: 4_000,
      finishedCalls: ['t1'],
    });
  });

  test('of a subagent only tell which calls have ended', () => {
    const row = parseRow(
      said(3, [{ type: 'tool_result', tool_use_id: 't1', content: '' }], { isSidechain: true }),
    );
    expect(foldHints(NO_HINTS, row === undefined ? [] : [row])).toEqual({
      ...NO_HINTS,
      finishedCalls: ['t1'],
    });
  });
});

describe('the place of a transcript', () => {
  test('is found by its id, whatever the folder is called', () => {
    mkdirSync(join(folder, 'projects', '-w-a', 'one', 'subagents', 'deep'), { recursive: true });
    mkdirSync(join(folder, 'projects', 'of another name', 'memory'), { recursive: true });
    const path = join(folder, 'projects', '-w-a', 'one.jsonl');
    writeFileSync(path, '');
    writeFileSync(join(folder, 'projects', '-w-a', 'one', 'subagents', 'deep', 'agent-7.jsonl'), '');
    writeFileSync(join(folder, 'projects', '-w-a', 'one', 'subagents', 'agent-7.meta.json'), '');
    expect(findTranscript(folder, 'one')).toBe(path);
    expect(findSubagentTranscripts(path)).toEqual([
      join(folder, 'projects', '-w-a', 'one', 'subagents', 'deep', 'agent-7.jsonl'),
    ]);
  });

  test('is unknown before the first line, and without any configuration', () => {
    expect(findTranscript(folder, 'one')).toBeUndefined();
  });
});
