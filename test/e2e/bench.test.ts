import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Figure } from '../bench/support/figure.ts';
import { gone } from '../support/sidecar.ts';

const MAIN = resolve(import.meta.dirname, '../bench/main.ts');

describe('a benchmark', () => {
  const scratch: string[] = [];
  afterEach(() => {
    for (const folder of scratch.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  test.each([
    ['activate', ['activate.cold', 'activate.warm', 'activate.handed', 'activate.shown']],
    ['tree', ['tree.event', 'tree.rows']],
  ])('finds the same on both sides: %s', async (name, expected) => {
    const { child, folder } = start(name);
    child.stderr?.resume();
    let printed = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    expect(await ended(child)).toBe(0);
    const figures = printed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Figure);
    expect(figures.map((figure) => figure.name)).toEqual(expected);
    for (const figure of figures) {
      expect(figure).toMatchObject({ equal: true, n: 1 });
      expect(figure.ratio).toBeCloseTo(figure.peer / figure.ours, 1);
    }
    expect(left(folder)).toEqual([]);
  });

  test('that is told to end leaves nothing behind', async () => {
    const { child, folder } = start('tree');
    // By then there are a server, a browser, a sidecar, a ptyhost and an agent.
    await said(child, 'making');
    expect(left(folder)).not.toEqual([]);
    child.kill('SIGTERM');
    expect(await ended(child)).toBe(143);
    for (const pid of left(folder)) await gone(pid);
    expect(readdirSync(folder)).toEqual([]);
  });

  /** Runs it with a folder for temporary files of its own, by which everything it starts is known. */
  function start(name: string): { child: ChildProcess; folder: string } {
    const folder = mkdtempSync(join(tmpdir(), 'fl-bench-'));
    scratch.push(folder);
    const child = spawn(process.execPath, [MAIN, name, '--quick', '--json'], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return { child, folder };
  }
});

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((done) => child.once('close', done));
}

/** Resolves once the benchmark has said so on the way; fails when it ends before. */
function said(child: ChildProcess, words: string): Promise<void> {
  return new Promise((done, fail) => {
    let told = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      told += text;
      if (told.includes(words)) done();
    });
    child.once('close', () => fail(new Error(`It ended: ${told}`)));
  });
}

/** Processes that were started with this folder for their temporary files, or have it in their command. */
function left(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) =>
      ['cmdline', 'environ'].some((file) => contentOf(`/proc/${pid}/${file}`).includes(folder)),
    );
}

/** Empty for a process that has ended. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
