import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BUILD } from '../platform/build.ts';
import { markRunning } from '../platform/bundle.ts';
import { systemClock } from '../platform/clock.ts';
import { EXIT_TAKEN, printLastWords } from '../platform/daemon-process.ts';
import { cleanEnvironment } from '../platform/environment.ts';
import { systemIds } from '../platform/ids.ts';
import { fileLog } from '../platform/log.ts';
import { pathsFor, preparePaths } from '../platform/paths.ts';
import { takeProcessLock } from '../platform/process-lock.ts';
import { clearScratchFolders } from '../platform/scratch-folder.ts';
import { inspectSurroundings } from './doctor.ts';
import { Sidecar } from './sidecar.ts';

/** Ten minutes. */
const IDLE_MS = 600_000;

/**
 * `sidecar --home FOLDER`: serves until idle or told to end. May be killed at any instant.
 * With `--inspect FOLDER` (empty: in none) it serves nobody, and prints as JSON what it finds of all that it needs.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { home: { type: 'string' }, inspect: { type: 'string' } } });
  const paths = pathsFor(values.home === undefined ? process.env : { FAIRLEAD_HOME: values.home });
  if (values.inspect !== undefined) {
    const environment = cleanEnvironment(process.env);
    const findings = await inspectSurroundings({ paths, folder: values.inspect || null, environment });
    process.stdout.write(JSON.stringify(findings));
    return;
  }
  preparePaths(paths);
  const log = fileLog(join(paths.logs, 'sidecar.log'), 'sidecar', systemClock);
  if (takeProcessLock(paths.sidecarLock) === undefined) {
    log.info('another sidecar serves this home');
    process.exit(EXIT_TAKEN);
  }
  process.on('uncaughtException', (error) =>
    log.error('uncaught', { error: error.message, stack: error.stack }),
  );
  process.on('unhandledRejection', (error) => log.error('unhandled', { error: String(error) }));
  markRunning(process.argv[1] ?? '', paths.versions);
  try {
    clearScratchFolders();
  } catch (error) {
    log.warn('scratch folders not cleared', { error: String(error) });
  }
  const sidecar = await Sidecar.open(
    {
      paths,
      environment: process.env,
      bundle: join(process.argv[1] ?? '', '..'),
      idleMs: idleTime(process.env.FAIRLEAD_IDLE_MS),
    },
    { clock: systemClock, ids: systemIds, log },
    () => process.exit(0),
  );
  process.on('SIGHUP', () => {});
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => void sidecar.end());
  await sidecar.serve();
  log.info('sidecar serves', { pid: process.pid, ...BUILD, node: process.version });
}

/** Milliseconds; what is no number above 0 counts as not set. */
function idleTime(text: string | undefined): number {
  const value = Number(text);
  return value > 0 && value < 2 ** 31 ? value : IDLE_MS;
}

main().catch((error: unknown) => {
  printLastWords(error);
  process.exit(1);
});
