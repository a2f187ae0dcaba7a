/** What became of one test inside the extension host. */
export interface HostResult {
  name: string;
  /** With its stack; null for a test that passed. */
  error: string | null;
}

interface HostCase {
  name: string;
  run(): Promise<void>;
}

/** Longest time of one test, in milliseconds: a question that nobody answers would wait for ever. */
const WITHIN_MS = 60_000;

const cases: HostCase[] = [];

/** A test that runs inside the extension host. Those of one window run one after the other, in their order. */
export function hostTest(name: string, run: () => Promise<void>): void {
  cases.push({ name, run });
}

/** Runs the tests that were named so far. */
export async function runHostTests(): Promise<HostResult[]> {
  const results: HostResult[] = [];
  for (const { name, run } of cases) {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`not done after ${WITHIN_MS} ms`)), WITHIN_MS);
    const error = await Promise.race([run(), late.promise]).then(
      () => null,
      (thrown: unknown) => (thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)),
    );
    clearTimeout(timer);
    results.push({ name, error });
  }
  return results;
}

/** Waits until `look` gives something that is neither undefined nor false. */
export async function eventually<T>(
  what: string,
  look: () => T | false | undefined | Promise<T | false | undefined>,
): Promise<T> {
  for (let waited = 0; ; waited += 100) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (waited > 30_000) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
