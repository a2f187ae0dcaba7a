import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readRegistry, SharedRegistry } from '../../../../sidecar/agents/claude/registry.ts';

let config: string;

beforeEach(() => {
  config = mkdtempSync(join(tmpdir(), 'fairlead-registry-'));
  mkdirSync(join(config, 'sessions'));
});
afterEach(() => rmSync(config, { recursive: true, force: true }));

function put(name: string, entry: unknown): void {
  writeFileSync(join(config, 'sessions', name), typeof entry === 'string' ? entry : JSON.stringify(entry));
}
const entry = (pid: number, more: object = {}) => ({
  pid,
  sessionId: 'one',
  cwd: '/w/a',
  startedAt: 100 + pid,
  kind: 'interactive',
  status: 'waiting',
  waitingFor: 'permission prompt',
  statusUpdatedAt: 500,
  updatedAt: 600,
  ...more,
});
const everybody = () => true;

describe('the registry', () => {
  test('tells status and since when, of the process that has the conversation', () => {
    put('7.json', entry(7));
    put('8.json', entry(8, { sessionId: 'two' }));
    expect(readRegistry(config, 'one', everybody)).toEqual({
      pid: 7,
      agentSessionId: 'one',
      status: 'waiting',
      waitingFor: 'permission prompt',
      statusAt: 500,
      startedAt: 107,
    });
  });

  test('ignores a process that was killed, whose file stays', () => {
    put('7.json', entry(7, { status: 'busy' }));
    put('9.json', entry(9, { status: 'idle' }));
    expect(readRegistry(config, 'one', (pid) => pid !== 7)?.status).toBe('idle');
    expect(readRegistry(config, 'one', () => false)).toBeUndefined();
  });

  test('takes the one that started last, when a process id came round', () => {
    put('7.json', entry(7, { startedAt: 900, status: 'idle' }));
    put('9.json', entry(9, { startedAt: 300 }));
    expect(readRegistry(config, 'one', everybody)?.pid).toBe(7);
  });

  test('is read once for all that ask at about the same time', () => {
    const clock = { time: 5_000, monotonic: () => clock.time };
    const shared = new SharedRegistry(clock);
    put('7.json', entry(7, { status: 'idle' }));
    put('8.json', entry(8, { sessionId: 'two', status: 'idle' }));
    expect(shared.entry(config, 'one', everybody)?.status).toBe('idle');
    for (const [pid, sessionId] of [
      [7, 'one'],
      [8, 'two'],
    ] as const) {
      put(`${pid}.json`, entry(pid, { sessionId, status: 'busy' }));
    }
    expect(shared.entry(config, 'two', everybody)?.status).toBe('idle');
    expect(shared.entry(config, 'two', () => false)).toBeUndefined();
    clock.time += 250;
    expect(shared.entry(config, 'two', everybody)?.status).toBe('busy');
    expect(shared.entry(config, 'one', everybody)?.status).toBe('busy');
  });

  test('has no status at first', () => {
    put('7.json', entry(7, { status: undefined, waitingFor: undefined, statusUpdatedAt: undefined }));
    expect(readRegistry(config, 'one', everybody)).toMatchObject({
      status: null,
      waitingFor: null,
      statusAt: 600,
    });
  });

  test('ignores secrets, links, background jobs, torn and strange files', () => {
    put('7.0a1b.key', 'secret');
    put('1.json', '{"pid":1,"sess');
    put('2.json', [entry(2)]);
    put('3.json', entry(3, { kind: 'background' }));
    put('4.json', `${JSON.stringify(entry(4))}${' '.repeat(70_000)}`);
    writeFileSync(join(config, 'real.json'), JSON.stringify(entry(5)));
    symlinkSync(join(config, 'real.json'), join(config, 'sessions', '5.json'));
    expect(readRegistry(config, 'one', everybody)).toBeUndefined();
  });

  test('of a CLI that keeps none is empty', () => {
    expect(readRegistry(join(config, 'missing'), 'one', everybody)).toBeUndefined();
  });
});
