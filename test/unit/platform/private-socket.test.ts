import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Clock } from '../../../sidecar/platform/clock.ts';
import { silentLog } from '../../../sidecar/platform/log.ts';
import { PrivateSocket } from '../../../sidecar/platform/private-socket.ts';

let folder: string;
let path: string;
let tick: (() => void) | undefined;
const clock: Clock = {
  now: () => 0,
  monotonic: () => 0,
  after(_ms, run) {
    tick = run;
    return () => {
      tick = undefined;
    };
  },
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-socket-'));
  path = join(folder, 'run', 'test.sock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const opens = () =>
  new Promise<boolean>((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

describe('a private socket', () => {
  it('is open to its user alone, in a folder of the same kind', async () => {
    const socket = new PrivateSocket(path, (connection) => connection.destroy(), clock, silentLog);
    await socket.open();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'run')).mode & 0o777).toBe(0o700);
    socket.close();
    expect(existsSync(path)).toBe(false);
  });

  it('is made again when its file was removed', async () => {
    const socket = new PrivateSocket(path, (connection) => connection.destroy(), clock, silentLog);
    await socket.open();
    rmSync(path);
    expect(await opens()).toBe(false);
    tick?.();
    await vi.waitFor(async () => expect(await opens()).toBe(true));
    socket.close();
  });
});
