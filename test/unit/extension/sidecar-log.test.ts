import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { showSidecarLog } from '../../../extension/actions/sidecar-log.ts';
import { FakeWindow } from '../../support/fake-window.ts';
import { window, workspace } from '../../support/vscode.ts';

const person = new FakeWindow();
let folder: string;
let opened: unknown[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-log-'));
  opened = [];
  workspace.openTextDocument = async (path: string) => {
    opened.push(path);
    return { lineCount: 3, lineAt: (line: number) => ({ range: `line ${line}` }) };
  };
  window.showTextDocument = async () => ({ revealRange: (range: string) => opened.push(range) });
});
afterEach(() => rmSync(folder, { recursive: true }));

it('the log of the sidecar is opened at its end, wherever it is', async () => {
  const file = join(folder, 'sidecar.log');
  writeFileSync(file, 'a\nb\n');
  await showSidecarLog({ connection: { logFile: async () => file } });
  expect(opened).toEqual([file, 'line 2']);
});

it('a log that is not there yet is said to be', async () => {
  const file = join(folder, 'sidecar.log');
  await showSidecarLog({ connection: { logFile: async () => file } });
  expect(opened).toEqual([]);
  expect(person.said).toEqual([`There is no log yet (${file}): the sidecar has never run here.`]);
});
