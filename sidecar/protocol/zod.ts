/**
 * Zod, as every schema here is written with it: the functional interface, which starts sooner than the other, with faults
 * in English.
 */
import { config } from 'zod/mini';
import en from 'zod/v4/locales/en.js';

config(en());

export * from 'zod/mini';
export { $ZodError as ZodError } from 'zod/v4/core';
