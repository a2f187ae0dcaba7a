import fc from 'fast-check';

/**
 * Property tests draw the same cases in every run, so that a failure is seen by whoever runs it again.
 * `FAIRLEAD_SEED=N` draws others.
 */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env.FAIRLEAD_SEED ?? 1) });
