import { beforeEach, inject } from 'vitest';

/** Skips what needs a window where none can be opened; the summary tells why. */
const missing = inject('noWindow');
if (missing !== '') beforeEach(({ skip }) => skip(missing));
