import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  MAX_BYTES_AT_ONCE,
  MAX_EVENT_BYTES,
  MAX_EVENTS_AT_ONCE,
  parsePrefix,
  readEventFiles,
} from '../../../../sidecar/agents/claude/hook-event.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-events-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(name: string, content: unknown, second = 1_000): void {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  utimesSync(path, second, second);
}

const ONE = '11111111-1111-4111-8111-111111111111';

const event = (name: string, more: object = {}) => ({ session_id: ONE, hook_event_name: name, ...more });

describe('event files', () => {
  test('are read in the order in which they were written, whatever they are called', () => {
    put('9', event('Stop', { background_tasks: [{}], session_crons: [{}] }), 1_002);
    put('80', event('UserPromptSubmit', { prompt: 'do it', prompt_id: 'p' }), 1_001);
    put('700', event('SessionStart', { source: 'startup' }), 1_000);
    const { events, files } = readEventFiles(folder);
    expect(events.map((each) => each.event)).toEqual(['SessionStart', 'UserPromptSubmit', 'Stop']);
    expect(events[0]).toEqual({
      name: '1000000000000-700'.padStart(23, '0'),
      at: 1_000_000,
      event: 'SessionStart',
      agentSessionId: ONE,
      source: 'startup',
    });
    expect(events[1]).toMatchObject({ prompt: 'do it', promptId: 'p' });
    expect(events[2]).toMatchObject({ backgroundTasks: 2 });
    expect(files.sort()).toEqual(['700', '80', '9']);
  });

  test('that are still being written are left alone', () => {
    put('.12', '{"session_id":');
    expect(readEventFiles(folder)).toEqual({ events: [], files: [], refused: [], more: false });
  });

  test('that are no events are refused, each with why, and do not stop the others', () => {
    put('1', 'no JSON');
    put('2', { hook_event_name: 'Stop' });
    put('3', []);
    put('4', event('Stop'));
    mkdirSync(join(folder, '5'));
    symlinkSync('/etc/hostname', join(folder, '6'));
    execFileSync('mkfifo', [join(folder, '7')]);
    const { events, files, refused } = readEventFiles(folder);
    expect(events.map((each) => each.event)).toEqual(['Stop']);
    expect(refused.map(({ file }) => file).sort()).toEqual(['1', '2', '3', '6', '7']);
    expect(files.sort()).toEqual(['1', '2', '3', '4', '6', '7']);
  });

  test('are refused that name a conversation by something else than its id', () => {
    const names = ['--dangerously-skip-permissions', '../../../x', 'one', '', `${ONE}\n`, 7];
    for (const [n, session_id] of names.entries()) put(`${n}`, event('SessionStart', { session_id }));
    const { events, refused } = readEventFiles(folder);
    expect(events).toEqual([]);
    expect(refused).toHaveLength(names.length);
  });

  test('keep what is well-formed when one field is strange', () => {
    put('1', event('Stop', { last_assistant_message: 7, background_tasks: 'none', prompt_id: 'p' }));
    expect(readEventFiles(folder).events[0]).toMatchObject({ event: 'Stop', promptId: 'p' });
  });

  test('above the size limit are read as far as their first fields', () => {
    const huge = event('PreToolUse', {
      tool_name: 'Write',
      tool_input: { content: 'x'.repeat(MAX_EVENT_BYTES) },
    });
    put('1', huge);
    const [read] = readEventFiles(folder).events;
    expect(read).toMatchObject({ event: 'PreToolUse', toolName: 'Write' });
    expect(read?.toolInput).toBeUndefined();
  });

  test('of a folder that is not there are none', () => {
    expect(readEventFiles(join(folder, 'missing')).events).toEqual([]);
  });
});

describe('the beginning of a JSON object', () => {
  test.each([
    ['{"a":1,"b":"x', { a: 1 }],
    ['{"a":{"c":[1,2]},"b":[1', { a: { c: [1, 2] } }],
    ['{"a":"\\",{","b":2,"c', { a: '",{', b: 2 }],
    ['{"a":1}', { a: 1 }],
    ['{"a', {}],
    ['[1,2', undefined],
    ['', undefined],
  ])('%s holds its complete members', (json, expected) => {
    expect(parsePrefix(json)).toEqual(expected);
  });
});

describe('a flood of event files', () => {
  test('is taken in part by part, the oldest first', () => {
    const second = (n: number) => 1_000 + ((n * 7) % 500);
    for (let n = 0; n < MAX_EVENTS_AT_ONCE + 50; n += 1) put(`${n}`, event('Stop'), second(n));
    const first = readEventFiles(folder);
    expect(first.events).toHaveLength(MAX_EVENTS_AT_ONCE);
    expect(first.more).toBe(true);
    for (const name of first.files) rmSync(join(folder, name));
    const rest = readEventFiles(folder);
    expect(rest).toMatchObject({ more: false, refused: [] });
    expect(rest.events).toHaveLength(50);
    expect(Math.min(...rest.events.map(({ at }) => at))).toBeGreaterThanOrEqual(
      Math.max(...first.events.map(({ at }) => at)),
    );
  });

  test('is taken in part by part when it is one of bytes, but one file at least', () => {
    const large = event('PreToolUse', { tool_input: { content: 'x'.repeat(MAX_EVENT_BYTES - 1_000) } });
    for (let n = 0; n < 6; n += 1) put(`${n}`, large, 1_000 + n);
    const { events, more } = readEventFiles(folder);
    expect(events.length).toBeGreaterThan(0);
    expect(events.length * MAX_EVENT_BYTES).toBeLessThanOrEqual(MAX_BYTES_AT_ONCE + MAX_EVENT_BYTES);
    expect(more).toBe(true);
  });

  test('keeps no text without end, and no input that another event has', () => {
    put('1', event('UserPromptSubmit', { prompt: 'x'.repeat(3_000_000) }), 1_000);
    put('2', event('Stop', { prompt_id: 'x'.repeat(100_000) }), 1_001);
    put('3', event('PostToolUse', { tool_use_id: 't', tool_input: { content: 'x' } }), 1_002);
    const { events } = readEventFiles(folder);
    expect(events[0]?.prompt).toHaveLength(1024 * 1024);
    expect(events[1]?.promptId).toBeUndefined();
    expect(events[2]).toMatchObject({ toolUseId: 't' });
    expect(events[2]?.toolInput).toBeUndefined();
  });

  test('of input that is nested without end is refused', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    put('1', `{"session_id":"${ONE}","hook_event_name":"PreToolUse","tool_input":${deep}}`);
    expect(readEventFiles(folder)).toMatchObject({ events: [], refused: [{ file: '1' }] });
  });
});
