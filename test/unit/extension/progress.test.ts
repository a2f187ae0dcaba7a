import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ExtensionError } from '../../../extension/connection/failure.ts';
import { type Cancel, withProgress } from '../../../extension/connection/progress.ts';
import { FakeWindow } from '../../support/fake-window.ts';

const window = new FakeWindow();

beforeEach(() => {
  vi.useFakeTimers();
  window.progress.length = 0;
  window.cancels = () => false;
});
afterEach(() => void vi.useRealTimers());

/** Something that takes a second, and what came of it. */
async function long(cancel: Cancel | undefined, { isRevoked = false } = {}): Promise<string> {
  const ended = withProgress(
    'Long',
    ({ token }) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => resolve('done'), 1_000);
        token?.onCancellationRequested(() => {
          if (!isRevoked) return;
          clearTimeout(timer);
          reject(new ExtensionError('cancelled', 'Cancelled.'));
        });
      }),
    cancel,
  ).catch((error: unknown) => (error instanceof ExtensionError ? error.code : String(error)));
  await vi.advanceTimersByTimeAsync(500);
  const early = await Promise.race([ended, Promise.resolve('goes on')]);
  await vi.advanceTimersByTimeAsync(1_000);
  return `${early}, ${await ended}`;
}

describe('what takes long', () => {
  it('is shown, and what is quick is not', async () => {
    await withProgress('Quick', async () => {});
    expect(window.progress).toEqual([]);
    await long(undefined);
    expect(window.progress).toEqual([{ title: 'Long', isCancellable: true }]);
  });

  it('has no Cancel where that could do nothing', async () => {
    window.cancels = () => true;
    expect(await long('none')).toBe('goes on, done');
    expect(window.progress).toEqual([{ title: 'Long', isCancellable: false }]);
  });

  it('is taken back by Cancel where that comes in time, and told as it ended where it does not', async () => {
    window.cancels = () => true;
    expect(await long('takes-back', { isRevoked: true })).toBe('cancelled, cancelled');
    expect(await long('takes-back')).toBe('goes on, done');
  });

  it('is not waited for any more where it changes nothing', async () => {
    window.cancels = () => true;
    expect(await long('ends-waiting')).toBe('cancelled, cancelled');
  });
});
