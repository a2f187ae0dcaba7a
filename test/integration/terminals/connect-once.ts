import { findNode } from '../../../sidecar/platform/node-runtime.ts';
import { pathsFor } from '../../../sidecar/platform/paths.ts';
import { systemProcesses } from '../../../sidecar/platform/processes.ts';
import { connectPtyHost } from '../../../sidecar/terminals/ptyhost-daemon.ts';
import { DIST } from '../../support/ptyhost.ts';

/** Connects to the ptyhost of the home that is its argument, and sends the pid of it to its parent. */
const client = await connectPtyHost({
  paths: pathsFor({ FAIRLEAD_HOME: process.argv[2] }),
  bundle: async () => DIST,
  node: () => findNode(systemProcesses, process.env),
  environment: process.env,
  client: 'connect-once',
});
process.send?.(client.host.pid, () => client.close());
