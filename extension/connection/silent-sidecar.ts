import { confirm } from '../window/messages.ts';
import { failureOf } from './failure.ts';

/** How long a sidecar that was killed is waited for, in milliseconds. */
const ENDS_WITHIN_MS = 10_000;

/**
 * Ends the sidecar that `error` says does not answer, once the person agrees.
 * @throws `error` when that says something else, or the person declines
 */
export async function endSilentSidecar(error: unknown): Promise<void> {
  const pid = silentPid(error);
  if (pid === undefined) throw error;
  const question = `The sidecar (pid ${pid}) does not answer. End it?`;
  if (!(await confirm(question, 'Agents go on, and nothing that was decided is lost.', 'End Sidecar'))) {
    throw error;
  }
  process.kill(pid, 'SIGKILL');
  await ended(pid);
}

/** The process that an error names which says that the sidecar does not answer. */
function silentPid(error: unknown): number | undefined {
  const { code, data } = failureOf(error);
  if (code !== 'daemon.not-answering' || typeof data !== 'object' || data === null) return undefined;
  const pid: unknown = Reflect.get(data, 'pid');
  return typeof pid === 'number' && pid > 1 ? pid : undefined;
}

/** Resolves when the process has ended, or has taken too long. */
async function ended(pid: number): Promise<void> {
  const deadline = Date.now() + ENDS_WITHIN_MS;
  while (isAlive(pid) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // What may not be signalled lives.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
