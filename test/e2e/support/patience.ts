/** How long something that has to appear may take on a busy machine, in milliseconds. */
export const PATIENCE_MS = 30_000;
