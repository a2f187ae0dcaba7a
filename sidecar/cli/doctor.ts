import { failed, inspectSurroundings, nodeFinding } from '../daemon/doctor.ts';
import { cleanEnvironment } from '../platform/environment.ts';
import { findNode } from '../platform/node-runtime.ts';
import { pathsFor } from '../platform/paths.ts';
import { systemProcesses } from '../platform/processes.ts';
import type { Finding } from '../protocol/protocol.ts';
import type { CommandContext } from './context.ts';

/** What can be said when not even the sidecar starts: why, and everything that can be seen from here. */
export async function inspectWithoutSidecar(context: CommandContext, error: unknown): Promise<Finding[]> {
  const node = await findNode(systemProcesses, context.environment).then(nodeFinding, (reason: unknown) =>
    failed('node', reason),
  );
  const surroundings = await inspectSurroundings({
    paths: pathsFor(context.environment),
    folder: context.folder,
    environment: cleanEnvironment(context.environment),
  });
  return [node, failed('sidecar', error), ...surroundings];
}
