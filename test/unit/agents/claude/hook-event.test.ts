import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  MAX_EVENT_BYTES,
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
    expect(readEventFiles(folder)).toEqual({ events: [], files: [], refused: [] });
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
