import { findNode } from '../../../sidecar/platform/node-runtime.ts';
import { pathsFor } from '../../../sidecar/platform/paths.ts';
import { systemProcesses } from '../../../sidecar/platform/processes.ts';
import { connectPtyHost } from '../../../sidecar/terminals/ptyhost-daemon.ts';
import { DIST, shell } from '../../support/ptyhost.ts';

/** Makes a terminal in the home and with the id of its arguments, prints the program's pid, and waits to be killed. */
const client = await connectPtyHost({
  paths: pathsFor({ FAIRLEAD_HOME: process.argv[2] }),
  bundle: async () => DIST,
  node: () => findNode(systemProcesses, process.env),
  environment: process.env,
  client: 'create-and-wait',
});
await client.request('subscribe', {});
const id = process.argv[3] ?? '';
const { terminal } = await client.request(
  'create',
  shell('while read line; do echo got $line; done', { id }),
);
console.log(terminal.pid);
