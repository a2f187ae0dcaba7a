import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type * as vscode from 'vscode';
import { pathsIn } from '../../../extension/terminals/path-links.ts';
import { SessionLinks } from '../../../extension/terminals/session-links.ts';
import { commands } from '../../support/vscode.ts';
import { sessionOf } from './support/sessions.ts';

describe('paths in a line', () => {
  it.each([
    ['● Update(src/app.js)', [['src/app.js']]],
    ['error in ./src/app.ts:12:3: no such thing', [['./src/app.ts', 12, 3]]],
    ['src/app.ts(12,3): error TS1', [['src/app.ts', 12, 3]]],
    ['See `docs/a.md`, "b.txt" and /w/one/c.txt:7.', [['docs/a.md'], ['b.txt'], ['/w/one/c.txt', 7]]],
    ['[app/[slug]/page.tsx] is read.', [['app/[slug]/page.tsx']]],
    ['Nothing here ... - / ~ it works', []],
  ])('%s', (line, expected) => {
    const found = pathsIn(line);
    expect(
      found.map((link) => [link.path, link.line, link.column].filter((each) => each !== undefined)),
    ).toEqual(expected);
    for (const { start, length, path } of found) {
      expect(line.slice(start, start + length)).toContain(path);
    }
  });

  it('are not looked for in endless lines', () => {
    expect(pathsIn('a/b '.repeat(1_000))).toEqual([]);
    expect(pathsIn('a/b '.repeat(100)).length).toBeLessThan(20);
  });
});

describe('links of a session', () => {
  const worktree = mkdtempSync(join(tmpdir(), 'fairlead-links-'));
  mkdirSync(join(worktree, 'src'));
  writeFileSync(join(worktree, 'src/app.js'), '');
  afterAll(() => rmSync(worktree, { recursive: true }));
  const ours = { name: 'ours' } as vscode.Terminal;
  const told: unknown[] = [];
  const links = new SessionLinks(
    (terminal) => (terminal === ours ? sessionOf({ id: 'one', worktree }) : undefined),
    (error) => told.push(error),
  );
  const inLine = async (line: string, terminal = ours) =>
    (await links.provideTerminalLinks({ line, terminal })).map(({ uri, startIndex, length }) => [
      uri.toString(),
      line.slice(startIndex, startIndex + length),
    ]);

  it('lead to the files of its worktree, by their relative and their full paths', async () => {
    expect(await inLine(`src/app.js:3 and ${worktree}/src/app.js`)).toEqual([
      ['fairlead://one/src/app.js', 'src/app.js:3'],
      ['fairlead://one/src/app.js', `${worktree}/src/app.js`],
    ]);
  });

  it('lead nowhere else', async () => {
    expect(await inLine('src/none.js ../x.js /etc/hosts src')).toEqual([]);
    expect(await inLine('src/app.js', { name: 'theirs' } as vscode.Terminal)).toEqual([]);
  });

  it('open at the line', async () => {
    const [link] = await links.provideTerminalLinks({ line: 'src/app.js:3:2', terminal: ours });
    if (link === undefined) throw new Error('no link');
    const run: unknown[] = [];
    commands.executeCommand = async (id: string, uri: vscode.Uri, options: unknown) =>
      run.push([id, uri.toString(), options]);
    await links.handleTerminalLink(link);
    const place = { line: 2, character: 1 };
    // By the command that takes any file: a picture has no text.
    expect(run).toEqual([
      ['vscode.open', 'fairlead://one/src/app.js', { selection: { start: place, end: place } }],
    ]);
  });

  it('that cannot be opened are told of', async () => {
    const [link] = await links.provideTerminalLinks({ line: 'src/app.js', terminal: ours });
    if (link === undefined) throw new Error('no link');
    const error = new Error('It was archived.');
    commands.executeCommand = () => Promise.reject(error);
    await links.handleTerminalLink(link);
    expect(told).toEqual([error]);
  });
});
