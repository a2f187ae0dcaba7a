import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { TranscriptScanner } from '../../../sidecar/cost/transcript-scanner.ts';
import { type Log, silentLog } from '../../../sidecar/platform/log.ts';
import { FairleadError } from '../../../sidecar/protocol/errors.ts';
import { TranscriptTail } from '../../../sidecar/sessions/transcript-tail.ts';
import { Trouble } from '../../../sidecar/sessions/trouble.ts';
import { SCANNER } from '../../support/scanner.ts';
import { TestClock } from '../../support/test-clock.ts';

let folder: string;
let lines = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-tail-'));
  return () => rmSync(folder, { recursive: true, force: true });
});

function line(type: string, fields: Record<string, unknown>): string {
  lines += 1;
  const at = new Date(1_000_000 + lines).toISOString();
  return `${JSON.stringify({ type, uuid: `u${lines}`, parentUuid: null, sessionId: 'one', timestamp: at, ...fields })}\n`;
}

const said = (content: string, fields: Record<string, unknown> = {}) =>
  line('user', { message: { role: 'user', content }, promptId: `p${lines + 1}`, ...fields });

function write(name: string, ...all: string[]): string {
  const path = join(folder, name);
  writeFileSync(path, all.join(''));
  return path;
}

const tailOf = (scanner: Pick<TranscriptScanner, 'news'>, log: Log = silentLog, clock = new TestClock()) =>
  new TranscriptTail(scanner, clock, new Trouble(log, 's'));

async function promptsOf(...all: string[]): Promise<string[]> {
  const tail = tailOf(SCANNER);
  tail.follow(write('one.jsonl', ...all));
  await tail.read();
  return tail.prompts.map(({ text }) => text);
}

describe('the prompts in a transcript', () => {
  it('are what a person said, not what the CLI says in their name', async () => {
    const result = [{ type: 'tool_result', tool_use_id: 't', content: 'ok' }];
    expect(
      await promptsOf(
        said('one'),
        said('a reminder', { isMeta: true }),
        said('of a subagent', { isSidechain: true }),
        said('[Request interrupted by user]'),
        said('<local-command-stdout>done</local-command-stdout>'),
        line('user', { message: { role: 'user', content: result } }),
        said('two'),
      ),
    ).toEqual(['one', 'two']);
  });

  it('are also commands, in both forms that the CLI writes', async () => {
    const command = (name: string, args = '') =>
      `<command-name>${name}</command-name>\n  <command-message>x</command-message>\n  <command-args>${args}</command-args>`;
    expect(
      await promptsOf(
        said(command('/compact', 'keep the plan')),
        line('system', { subtype: 'local_command', content: command('/context') }),
        line('system', {
          subtype: 'local_command',
          content: '<local-command-stdout>x</local-command-stdout>',
        }),
      ),
    ).toEqual(['/compact keep the plan', '/context']);
  });

  it('come as they are written, and only of the transcript that is followed', async () => {
    const tail = tailOf(SCANNER);
    const path = write('one.jsonl', said('one'));
    tail.follow(path);
    await tail.read();
    const torn = said('two');
    appendFileSync(path, torn.slice(0, 20));
    await tail.read();
    expect(tail.prompts.map(({ text }) => text)).toEqual(['one']);
    appendFileSync(path, torn.slice(20));
    await tail.read();
    expect(tail.prompts.map(({ text }) => text)).toEqual(['one', 'two']);
    tail.follow(write('two.jsonl', said('three')));
    expect(tail.prompts).toEqual([]);
    expect((await tail.read())?.promptAt).not.toBeNull();
    expect(tail.prompts.map(({ text }) => text)).toEqual(['three']);
    tail.follow(join(folder, 'none.jsonl'));
    expect(await tail.read()).toBeUndefined();
  });

  it('are remembered as the last few', async () => {
    const all = Array.from({ length: 100 }, (_, n) => said(`prompt ${n}`));
    const prompts = await promptsOf(...all);
    expect(prompts.length).toBeLessThan(50);
    expect(prompts.at(-1)).toBe('prompt 99');
  });
});

describe('a transcript that cannot be read', () => {
  const kinds = ['transcript.interrupted', 'transcript.unreadable'] as const;
  it.each(kinds)('(%s) tells what it told last, and the log once', async (code) => {
    const warned: string[] = [];
    const log: Log = { ...silentLog, warn: (event) => warned.push(event) };
    let fails = false;
    const scanner: Pick<TranscriptScanner, 'news'> = {
      news: (path, from) =>
        fails ? Promise.reject(new FairleadError(code, 'No.')) : SCANNER.news(path, from),
    };
    const tail = tailOf(scanner, log);
    const path = write('one.jsonl', said('one'));
    tail.follow(path);
    const hints = await tail.read();
    expect(hints?.promptAt).not.toBeNull();
    fails = true;
    appendFileSync(path, said('two'));
    expect(await tail.read()).toEqual(hints);
    expect(await tail.read()).toEqual(hints);
    expect(tail.prompts.map(({ text }) => text)).toEqual(['one']);
    expect(warned).toEqual(['transcript not read']);
    fails = false;
    await tail.read();
    expect(tail.prompts.map(({ text }) => text)).toEqual(['one', 'two']);
    fails = true;
    await tail.read();
    expect(warned).toHaveLength(2);
  });

  it('in time is waited for once, and tells more when it is read in the end', async () => {
    const clock = new TestClock();
    let goOn: (() => void) | undefined;
    let asked = 0;
    const scanner: Pick<TranscriptScanner, 'news'> = {
      news: async (path, from) => {
        asked += 1;
        if (asked === 2) await new Promise<void>((resolve) => (goOn = resolve));
        return SCANNER.news(path, from);
      },
    };
    const tail = tailOf(scanner, silentLog, clock);
    const path = write('one.jsonl', said('one'));
    tail.follow(path);
    const hints = await tail.read();
    appendFileSync(path, said('two'));
    const late = tail.read();
    await Promise.resolve();
    clock.pass(10_000);
    expect(await late).toEqual(hints);
    expect(await tail.read()).toEqual(hints);
    expect(asked).toBe(2);
    goOn?.();
    await expect.poll(() => tail.prompts.map(({ text }) => text)).toEqual(['one', 'two']);
    expect((await tail.read())?.promptAt).not.toEqual(hints?.promptAt);
  });
});
