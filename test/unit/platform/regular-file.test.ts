import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readTextFile } from '../../../sidecar/platform/regular-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'fairlead-regular-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a file that others can put there', () => {
  it('is read', () => {
    writeFileSync(join(folder, 'file'), 'text\n');
    expect(readTextFile(join(folder, 'file'))).toBe('text\n');
  });

  it('is missing as any other', () => {
    expect(() => readTextFile(join(folder, 'none'))).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  });

  it('is refused where it is a FIFO or a folder, and waits for nobody', () => {
    execFileSync('mkfifo', [join(folder, 'fifo')]);
    for (const path of [join(folder, 'fifo'), folder, '/dev/zero']) {
      expect(() => readTextFile(path)).toThrow(expect.objectContaining({ code: 'EINVAL' }));
    }
  });
});
