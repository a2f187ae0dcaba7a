import type * as z from './zod.ts';

/** What is asked and what is answered, by the schemas that both sides check at their edge. */
export interface Exchange<P extends z.ZodMiniType, R extends z.ZodMiniType> {
  readonly params: P;
  readonly result: R;
}

/** Its schemas are made at first use: a process uses few of all that it could ask, and to make them takes time. */
export function exchange<P extends z.ZodMiniType, R extends z.ZodMiniType>(
  params: () => P,
  result: () => R,
): Exchange<P, R> {
  const made = { params: once(params), result: once(result) };
  return {
    get params() {
      return made.params();
    },
    get result() {
      return made.result();
    },
  };
}

/** Makes it when it is first asked for, then keeps it. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
