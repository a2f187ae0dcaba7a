import setup from '../e2e/support/global-setup.ts';

/** What the benchmarks measure is what ships: packaged, in a real editor. */
setup();
