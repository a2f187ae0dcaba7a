import { join, resolve } from 'node:path';
import { ScanWorker } from '../../sidecar/cost/transcript-scanner.ts';
import { systemClock } from '../../sidecar/platform/clock.ts';
import { type Log, silentLog } from '../../sidecar/platform/log.ts';

const DIST = resolve(import.meta.dirname, '../../dist');

/** The thread that ships, over the built bundle. */
export function scanWorker(log: Log = silentLog): ScanWorker {
  return new ScanWorker({ script: join(DIST, 'scan-worker.js'), clock: systemClock, log });
}

/** One for all tests of a file. It starts with the first question, and keeps no process alive. */
export const SCANNER = scanWorker();
