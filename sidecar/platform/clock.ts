/** Time comes in through here, so that tests can own it. */
export interface Clock {
  /** Milliseconds since the epoch. May jump; only for what people read. */
  now(): number;
  /** Milliseconds from an arbitrary start that never goes back. For time-outs. */
  monotonic(): number;
  /** Calls `run` once after `ms`; the returned function cancels it. Does not keep the process alive. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // `performance` loads a module of its own.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or rejects with the signal's reason when it aborts first. Keeps the process alive. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
