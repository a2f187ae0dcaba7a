import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeProcessLock } from '../../../sidecar/platform/process-lock.ts';

const SOURCE = resolve(import.meta.dirname, '../../../sidecar/platform/process-lock.ts');

describe('the lock of a process', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-lock-'));
    file = join(folder, 'lock');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is had by one, until it is released', () => {
    const lock = takeProcessLock(file);
    expect(lock).toBeDefined();
    expect(takeProcessLock(file)).toBeUndefined();
    lock?.release();
    lock?.release();
    const next = takeProcessLock(file);
    expect(next).toBeDefined();
    next?.release();
  });

  it('lasts as long as its process, though nobody keeps it and garbage is collected; then it is free', async () => {
    const script = join(folder, 'holder.ts');
    writeFileSync(
      script,
      `import { takeProcessLock } from ${JSON.stringify(SOURCE)};
       const taken = (() => takeProcessLock(${JSON.stringify(file)}) !== undefined)();
       for (let round = 0; round < 5; round += 1) { globalThis.gc(); await new Promise((r) => setTimeout(r, 10)); }
       console.log(taken);
       setInterval(() => {}, 1000);`,
    );
    const child = spawn(process.execPath, ['--expose-gc', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const said = await new Promise<string>((resolve) =>
      child.stdout.once('data', (text) => resolve(`${text}`)),
    );
    expect(said.trim()).toBe('true');
    expect(takeProcessLock(file)).toBeUndefined();
    child.kill('SIGKILL');
    await ended;
    const next = takeProcessLock(file);
    expect(next).toBeDefined();
    next?.release();
  });
});
