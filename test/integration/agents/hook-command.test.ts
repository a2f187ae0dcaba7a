import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readEventFiles } from '../../../sidecar/agents/claude/hook-event.ts';
import {
  eventsFolder,
  HOOK_EVENTS,
  hookCommand,
  launchSettings,
} from '../../../sidecar/agents/claude/settings.ts';

let root: string;
let folder: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "fairlead hook's-"));
  folder = join(root, 'git dir', 'fairlead', 'events');
  mkdirSync(join(root, 'git dir'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const ONE = '11111111-1111-4111-8111-111111111111';
const stop = `{"session_id":"${ONE}","hook_event_name":"Stop"}`;

function run(input: string, command = hookCommand(folder)) {
  return spawnSync('/bin/sh', ['-c', command], { input, encoding: 'utf8' });
}

describe('the hook command', () => {
  test('drops its input as one event, private to the user, into a folder that it makes', () => {
    expect(run(stop)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    const { events, files } = readEventFiles(folder);
    expect(events).toMatchObject([{ event: 'Stop', agentSessionId: ONE }]);
    expect(statSync(join(folder, files[0] ?? '')).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  test('makes nothing where the git directory is gone, and says nothing', () => {
    rmSync(join(root, 'git dir'), { recursive: true });
    expect(run(stop)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(readdirSync(root)).toEqual([]);
  });

  test('loses nothing when many run at once', async () => {
    const command = hookCommand(folder);
    const children: ChildProcess[] = Array.from({ length: 40 }, () => {
      const child = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'ignore', 'ignore'] });
      child.stdin?.end(`{"session_id":"${randomUUID()}","hook_event_name":"PreToolUse"}`);
      return child;
    });
    await Promise.all(children.map((child) => new Promise((resolve) => child.once('exit', resolve))));
    expect(new Set(readEventFiles(folder).events.map((event) => event.agentSessionId)).size).toBe(40);
  });

  test('does not overwrite an event that has its name', () => {
    mkdirSync(folder, { recursive: true });
    // `$$` of the shell is not known beforehand: the name is taken by the command itself.
    const twice = `n=taken; : >"$d/taken"; ${hookCommand(folder).replace('n=$$', ':')}`;
    run(stop, `d='${folder.replaceAll("'", "'\\''")}'; ${twice}`);
    expect(statSync(join(folder, 'taken')).size).toBe(0);
    expect(readEventFiles(folder).events).toHaveLength(1);
  });

  test('takes a large input whole', () => {
    const input = JSON.stringify({
      session_id: ONE,
      hook_event_name: 'PostToolUse',
      tool_response: 'x'.repeat(3_000_000),
    });
    run(input);
    const [file] = readEventFiles(folder).files;
    expect(readFileSync(join(folder, file ?? ''), 'utf8')).toBe(input);
  });

  test.each([
    [
      'the folder is a file',
      () => {
        mkdirSync(join(root, 'git dir', 'fairlead'), { recursive: true });
        writeFileSync(folder, '');
      },
    ],
    [
      'the folder cannot be made',
      () => {
        writeFileSync(join(root, 'git dir', 'fairlead'), '');
      },
    ],
  ])('says nothing and does not fail when %s', (_, breakIt) => {
    breakIt();
    expect(run(stop)).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  test('is one line, so that it stands in JSON and in a transcript without harm', () => {
    expect(hookCommand(folder)).not.toContain('\n');
  });
});

describe('the settings', () => {
  test('name every event once, with a time limit, and let tool calls run on', () => {
    const { hooks } = launchSettings(folder) as {
      hooks: Record<string, { hooks: { command: string; timeout: number; async?: boolean }[] }[]>;
    };
    expect(Object.keys(hooks)).toEqual([...HOOK_EVENTS]);
    const beside = Object.entries(hooks).filter(([, [group]]) => group?.hooks[0]?.async === true);
    expect(beside.map(([event]) => event)).toEqual([
      'PreToolUse',
      'PostToolUse',
      'PostToolUseFailure',
      'Notification',
    ]);
    for (const [group] of Object.values(hooks)) expect(group?.hooks[0]).toMatchObject({ timeout: 5 });
  });

  test('put events into the git directory of the worktree', () => {
    expect(eventsFolder('/repo/.git/worktrees/a')).toBe('/repo/.git/worktrees/a/fairlead/events');
    expect(existsSync(folder)).toBe(false);
  });
});
