import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BUILD } from '../platform/build.ts';
import { bundleName, installBundle } from '../platform/bundle.ts';
import { systemClock } from '../platform/clock.ts';
import type { DaemonProcess } from '../platform/daemon-process.ts';
import { cleanEnvironment } from '../platform/environment.ts';
import { findNode } from '../platform/node-runtime.ts';
import type { Paths } from '../platform/paths.ts';
import { systemProcesses } from '../platform/processes.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The folder that this program was bundled into. */
export function bundleFolder(): string {
  return dirname(realpathSync(process.argv[1] ?? ''));
}

/** The sidecar of a home: how it is found, and started from a copy of this program's own bundle. */
export function sidecarProcess(paths: Paths, environment: Environment): DaemonProcess {
  return {
    name: 'sidecar',
    socket: paths.sidecarSocket,
    lock: paths.spawnLock,
    output: join(paths.logs, 'sidecar.out'),
    command: async () => {
      const node = await findNode(systemProcesses, environment);
      const bundle = installBundle(
        bundleFolder(),
        paths.versions,
        bundleName(BUILD.version, BUILD.id),
        systemClock,
      );
      return {
        file: node.file,
        args: [join(bundle, 'sidecar.js'), '--home', paths.home],
        env: {
          ...sidecarEnvironment(environment),
          ...node.env,
          // The second start of a bundle, and the ptyhost's, find it compiled.
          NODE_COMPILE_CACHE: join(bundle, 'compiled'),
        },
      };
    },
  };
}

/** The daemon's own environment: clean, with the settings of ours that are its business. */
function sidecarEnvironment(environment: Environment): Record<string, string> {
  const ours = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[0].startsWith('FAIRLEAD_') && entry[1] !== undefined,
  );
  return { ...cleanEnvironment(environment), ...Object.fromEntries(ours) };
}
