import type { Output } from './output.ts';

/** Milliseconds after which a person wants to know what takes so long. */
const PATIENCE_MS = 1_500;

/** Says what is being done when it takes a while. Nothing with `--json`. */
export async function withProgress<T>(output: Output, what: string, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(() => output.note(what), PATIENCE_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
