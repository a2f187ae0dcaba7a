import type { Clock } from '../platform/clock.ts';

/** Whether `work` has resolved within `ms` milliseconds; it goes on anyhow. Rejects as `work` does in that time. */
export function inTime(clock: Pick<Clock, 'after'>, ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => resolve(false));
    work.then(
      () => {
        cancel();
        resolve(true);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
