import { join } from 'node:path';
import { cleanEnvironment } from '../platform/environment.ts';
import { findNode } from '../platform/node-runtime.ts';
import { pathsFor } from '../platform/paths.ts';
import { systemProcesses } from '../platform/processes.ts';
import { asFairleadError } from '../protocol/errors.ts';
import { Finding } from '../protocol/protocol.ts';
import * as z from '../protocol/zod.ts';
import type { CommandContext } from './context.ts';
import { bundleFolder } from './sidecar-process.ts';

const INSPECTION_MS = 60_000;

/** What can be said when not even the sidecar starts: why, and everything that can be seen without one. */
export async function inspectWithoutSidecar(context: CommandContext, error: unknown): Promise<Finding[]> {
  const sidecar = problem('sidecar', error);
  try {
    const node = await findNode(systemProcesses, context.environment);
    return [
      {
        check: 'node',
        state: 'ok',
        found: `${node.version} at ${node.file} (${node.from})`,
        hint: null,
      },
      sidecar,
      ...(await inspectSurroundings(context, node)),
    ];
  } catch (reason) {
    return [problem('node', reason), sidecar];
  }
}

/** The sidecar's own program looks, without serving: what it needs is looked at with its own code. */
async function inspectSurroundings(
  context: CommandContext,
  node: Awaited<ReturnType<typeof findNode>>,
): Promise<Finding[]> {
  const { home } = pathsFor(context.environment);
  const args = [join(bundleFolder(), 'sidecar.js'), '--home', home, '--inspect', context.folder ?? ''];
  const run = await systemProcesses.run(node.file, args, {
    cwd: '/',
    env: { ...cleanEnvironment(context.environment), ...node.env },
    timeoutMs: INSPECTION_MS,
  });
  return z.array(Finding).parse(JSON.parse(run.stdout.toString('utf8')));
}

function problem(check: string, error: unknown): Finding {
  const { message, hint } = asFairleadError(error);
  return { check, state: 'problem', found: message, hint: hint ?? 'Run `fairlead logs` to see more.' };
}
