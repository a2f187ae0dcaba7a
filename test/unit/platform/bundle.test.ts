import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bundleName, installBundle, markRunning, pruneBundles } from '../../../sidecar/platform/bundle.ts';
import { systemClock } from '../../../sidecar/platform/clock.ts';

let folder: string;
let dist: string;
let versions: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fl-bundle-'));
  dist = join(folder, 'dist');
  versions = join(folder, 'versions');
  mkdirSync(join(dist, 'node_modules/x'), { recursive: true });
  writeFileSync(join(dist, 'ptyhost.js'), 'setInterval(() => {}, 1000); process.stdout.write("up");');
  writeFileSync(join(dist, 'node_modules/x/x.node'), 'binary');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const age = (path: string) => utimesSync(path, 1, 1);

describe('the versioned copy of the bundle', () => {
  it('is made whole and once, and runs from itself', () => {
    const to = installBundle(dist, versions, bundleName('1.0.0', 'abc'), systemClock);
    expect(to).toBe(join(versions, '1.0.0-abc'));
    expect(readFileSync(join(to, 'node_modules/x/x.node'), 'utf8')).toBe('binary');
    writeFileSync(join(dist, 'ptyhost.js'), 'changed');
    expect(installBundle(dist, versions, '1.0.0-abc', systemClock)).toBe(to);
    expect(readFileSync(join(to, 'ptyhost.js'), 'utf8')).not.toBe('changed');
    expect(installBundle(to, versions, 'other', systemClock)).toBe(to);
    expect(readdirSync(versions)).toEqual(['1.0.0-abc']);
  });

  it('goes when no process runs from it, and stays while one does', async () => {
    for (const name of ['keep', 'marked', 'running', 'old', 'young']) {
      installBundle(dist, versions, name, systemClock);
      if (name !== 'young') age(join(versions, name));
    }
    mkdirSync(join(versions, 'half.999999999.tmp'));
    markRunning(join(versions, 'marked/ptyhost.js'), versions);
    age(join(versions, 'marked'));
    const child = spawn(process.execPath, [join(versions, 'running/ptyhost.js')], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    try {
      const removed = pruneBundles(versions, join(versions, 'keep'), systemClock);
      expect(removed.sort()).toEqual(['half.999999999.tmp', 'old']);
      expect(readdirSync(versions).sort()).toEqual(['keep', 'marked', 'running', 'young']);
    } finally {
      child.kill('SIGKILL');
      await new Promise((resolve) => child.once('exit', resolve));
    }
    expect(pruneBundles(versions, join(versions, 'keep'), systemClock)).toEqual(['running']);
  });

  it('is not marked by a program that runs from elsewhere', () => {
    markRunning(join(dist, 'ptyhost.js'), versions);
    expect(existsSync(join(dist, 'running'))).toBe(false);
  });
});
