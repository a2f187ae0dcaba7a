import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BUILD } from '../platform/build.ts';
import { markRunning } from '../platform/bundle.ts';
import { systemClock } from '../platform/clock.ts';
import { EXIT_TAKEN, printLastWords } from '../platform/daemon-process.ts';
import { systemIds } from '../platform/ids.ts';
import { fileLog } from '../platform/log.ts';
import { pathsFor } from '../platform/paths.ts';
import { takeProcessLock } from '../platform/process-lock.ts';
import { PtyHost } from './host.ts';
import { loadNativePty } from './native-pty.ts';

/** Ten minutes. */
const IDLE_MS = 600_000;

/** `ptyhost --home FOLDER [--idle-ms N]`: serves until idle or told to end. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { home: { type: 'string' }, 'idle-ms': { type: 'string' } } });
  const paths = pathsFor(values.home === undefined ? process.env : { FAIRLEAD_HOME: values.home });
  for (const folder of [paths.home, paths.run, paths.logs])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  const log = fileLog(join(paths.logs, 'ptyhost.log'), 'ptyhost', systemClock);
  const lock = takeProcessLock(join(paths.run, 'ptyhost.lock'));
  if (lock === undefined) {
    log.info('ptyhost.taken');
    process.exit(EXIT_TAKEN);
  }
  process.on('uncaughtException', (error) => log.error('ptyhost.uncaught', { error, stack: error.stack }));
  process.on('unhandledRejection', (error) => log.error('ptyhost.unhandled', { error: String(error) }));
  markRunning(process.argv[1] ?? '', paths.versions);
  const host = new PtyHost(
    {
      socket: paths.ptyhostSocket,
      scrollback: paths.scrollback,
      idleMs: Number(values['idle-ms'] ?? IDLE_MS),
      version: BUILD.version,
      build: BUILD.id,
    },
    { pty: loadNativePty(), clock: systemClock, ids: systemIds, log },
    () => process.exit(0),
  );
  process.on('SIGHUP', () => {});
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => void host.end('asked'));
  await host.start();
  log.info('ptyhost.start', { pid: process.pid, ...BUILD, node: process.version });
}

main().catch((error: unknown) => {
  printLastWords(error);
  process.exit(1);
});
