import { FairleadError } from '../protocol/errors.ts';
import type { Environment } from './environment.ts';
import type { Processes } from './processes.ts';

/** A Node that can run Fairlead's daemons. */
export interface NodeRuntime {
  file: string;
  version: string;
  /** To be set for every start of `file`: makes an Electron binary behave as Node. */
  env: Readonly<Record<string, string>>;
  /** Where it was found. */
  from: 'setting' | 'this program' | 'PATH';
}

const RUNS_AS_NODE = { ELECTRON_RUN_AS_NODE: '1' };

/** Prints the version only where the whole program runs: an old Node has no `node:sqlite`. */
const PROBE = `require('node:sqlite'); process.stdout.write(process.versions.node)`;

const PROBE_MS = 10_000;

/**
 * The first of: the `explicit` path, the program that runs this, `node` on the PATH of `environment`; of those the one
 * that really runs `require('node:sqlite')`.
 * @throws FairleadError `node.missing`, naming each that was tried
 */
export async function findNode(
  processes: Processes,
  environment: Environment,
  explicit?: string,
): Promise<NodeRuntime> {
  const tried: string[] = [];
  if (explicit !== undefined && explicit !== '') {
    const version = await probe(processes, environment, explicit);
    if (version !== undefined) return { file: explicit, version, env: RUNS_AS_NODE, from: 'setting' };
    tried.push(explicit);
  }
  // A process that is Node itself needs no other to find out.
  if (process.versions.electron === undefined && process.getBuiltinModule('node:sqlite') !== undefined) {
    return {
      file: process.execPath,
      version: process.versions.node,
      env: RUNS_AS_NODE,
      from: 'this program',
    };
  }
  for (const [file, from] of [
    [process.execPath, 'this program'],
    ['node', 'PATH'],
  ] as const) {
    const version = await probe(processes, environment, file);
    if (version !== undefined) return { file, version, env: RUNS_AS_NODE, from };
    tried.push(file);
  }
  throw new FairleadError(
    'node.missing',
    `No Node.js with node:sqlite was found; tried ${tried.join(', ')}.`,
    {
      hint: 'Install Node.js 22.13 or newer, or set fairlead.nodePath to one.',
    },
  );
}

/** The version that `file` runs with, or undefined when it does not run the probe. */
async function probe(
  processes: Processes,
  environment: Environment,
  file: string,
): Promise<string | undefined> {
  const env: Record<string, string> = { ...RUNS_AS_NODE };
  if (environment.PATH !== undefined) env.PATH = environment.PATH;
  const result = await processes.run(file, ['-e', PROBE], { env, timeoutMs: PROBE_MS });
  const version = result.stdout.toString('utf8').trim();
  return result.exitCode === 0 && /^\d+\.\d+\.\d+/.test(version) ? version : undefined;
}
