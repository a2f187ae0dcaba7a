import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ExtensionError } from '../../../extension/connection/failure.ts';
import { endSidecar } from '../../../extension/connection/silent-sidecar.ts';
import { FakeWindow } from '../../support/fake-window.ts';

const window = new FakeWindow();

let other: ChildProcessWithoutNullStreams;
let pid: number;
beforeEach(() => {
  other = spawn('cat');
  pid = other.pid ?? 0;
  window.said.length = 0;
  window.pick = () => 'End Sidecar';
});
afterEach(() => void other.kill('SIGKILL'));

const silent = (pid: number) =>
  new ExtensionError('daemon.not-answering', 'It does not answer.', { data: { name: 'sidecar', pid } });
/** Whether it still gives back what it is given. */
async function isAlive(): Promise<boolean> {
  const echo = once(other.stdout, 'data').then(() => true);
  const exit = once(other, 'exit').then(() => false);
  other.stdin.on('error', () => {}).write('Are you there?');
  return Promise.race([echo, exit]);
}

describe('a sidecar that does not answer', () => {
  it('is killed once the person agrees, and it still does not', async () => {
    const exit = once(other, 'exit');
    await endSidecar(() => Promise.reject(silent(pid)));
    expect((await exit)[1]).toBe('SIGKILL');
    expect(window.said).toEqual([`The sidecar (pid ${pid}) does not answer. End it?`]);
  });

  it('and ended while the person was asked is ended: who has its pid by then lives', async () => {
    const ends = [() => Promise.reject(silent(pid)), async () => {}];
    await endSidecar(() => ends.shift()?.() ?? Promise.reject(new Error('asked too often')));
    expect(ends).toEqual([]);
    expect(await isAlive()).toBe(true);
  });

  it('that another has taken the place of is asked about anew', async () => {
    const gone = 2 ** 22;
    const ends = [gone, pid, pid].map((each) => () => Promise.reject(silent(each)));
    const exit = once(other, 'exit');
    await endSidecar(() => ends.shift()?.() ?? Promise.reject(new Error('asked too often')));
    await exit;
    expect(window.said).toEqual(
      [gone, pid].map((each) => `The sidecar (pid ${each}) does not answer. End it?`),
    );
  });

  it('that ends just before it would be killed is no failure', async () => {
    const exit = once(other, 'exit');
    other.kill('SIGKILL');
    await exit;
    await endSidecar(() => Promise.reject(silent(pid)));
  });

  it('is let be when the person declines', async () => {
    window.pick = () => undefined;
    const error = silent(pid);
    await expect(endSidecar(() => Promise.reject(error))).rejects.toBe(error);
    expect(await isAlive()).toBe(true);
  });
});
