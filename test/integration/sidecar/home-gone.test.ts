import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gone, SidecarHarness } from '../../support/sidecar.ts';

const PLAIN = { PATH: process.env.PATH ?? '', HOME: '/nonexistent' };
const THERE = { cwd: '/' };

describe('a sidecar whose home is removed', { timeout: 60_000 }, () => {
  it('ends, and leaves the one that serves in its place alone', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    const first = await fairlead.json<{ pid: number }>(['up'], THERE);
    rmSync(fairlead.home, { recursive: true });
    const second = await fairlead.json<{ pid: number }>(['up'], THERE);
    expect(second.pid).not.toBe(first.pid);
    await gone(first.pid);
    expect(await fairlead.json(['up'], THERE)).toMatchObject({ pid: second.pid });
    expect(await fairlead.json(['ls'], THERE)).toEqual([]);
  });

  it('ends when its database alone is taken away', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    const { pid } = await fairlead.json<{ pid: number }>(['up'], THERE);
    for (const end of ['', '-wal', '-shm']) rmSync(join(fairlead.home, `state.db${end}`), { force: true });
    await gone(pid);
  });
});
