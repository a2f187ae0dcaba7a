import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockHolder } from '../../../sidecar/platform/lock-holder.ts';
import { takeProcessLock } from '../../../sidecar/platform/process-lock.ts';

describe('the holder of a lock', () => {
  it('is told when its command names the home, and nobody else is', () => {
    const home = mkdtempSync(join(tmpdir(), 'fairlead-locks-'));
    try {
      mkdirSync(join(home, 'run'));
      const file = join(home, 'run', 'sidecar.lock');
      expect(lockHolder(file)).toBeUndefined();
      const lock = takeProcessLock(file);
      // This process has the lock, and is no daemon of that home.
      expect(lockHolder(file)).toBeUndefined();
      lock?.release();
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
