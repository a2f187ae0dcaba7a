import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { clearScratchFolders, ScratchFolder } from '../../../sidecar/platform/scratch-folder.ts';

const parent = mkdtempSync(join(tmpdir(), 'fairlead-parent-'));
afterAll(() => rmSync(parent, { recursive: true }));

describe('a folder for one piece of work', () => {
  it('goes with what is in it', () => {
    const folder = new ScratchFolder(parent);
    writeFileSync(join(folder.path, 'file'), 'x');
    folder[Symbol.dispose]();
    expect(existsSync(folder.path)).toBe(false);
  });

  it('is cleared once its process has died, and no other', () => {
    using own = new ScratchFolder(parent);
    const { pid } = spawnSync('true');
    const dead = join(parent, `fairlead-scratch-${pid}-abc`);
    const foreign = join(parent, 'somebody-else');
    for (const path of [dead, foreign]) mkdirSync(path);
    clearScratchFolders(parent);
    expect([dead, foreign, own.path].map((path) => existsSync(path))).toEqual([false, true, true]);
  });
});
