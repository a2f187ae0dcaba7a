import { confirm } from '../window/messages.ts';
import { failureOf } from './failure.ts';

/** How long a sidecar that was killed is waited for, in milliseconds. */
const ENDS_WITHIN_MS = 10_000;

/**
 * Ends the sidecar by `end`; one that does not answer is killed, once the person agrees. They may take their time, in
 * which it may have woken up or ended, and its pid be another's: it is asked anew before.
 * @throws what `end` does; for a sidecar that does not answer, when the person declines
 */
export async function endSidecar(end: () => Promise<void>): Promise<void> {
  let agreed: number | undefined;
  for (;;) {
    try {
      return await end();
    } catch (error) {
      const pid = silentPid(error);
      if (agreed !== undefined && failureOf(error).code === 'daemon.lost') return;
      if (pid === undefined) throw error;
      if (pid === agreed) return kill(pid);
      const question = `The sidecar (pid ${pid}) does not answer. End it?`;
      if (!(await confirm(question, 'Agents go on, and nothing that was decided is lost.', 'End Sidecar'))) {
        throw error;
      }
      agreed = pid;
    }
  }
}

/** Resolves when the process has ended, or has taken too long. */
async function kill(pid: number): Promise<void> {
  if (!signal(pid, 'SIGKILL')) return;
  const deadline = Date.now() + ENDS_WITHIN_MS;
  while (signal(pid, 0) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Gives whether there was such a process. @throws when it may not be signalled */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

/** The process that an error names which says that the sidecar does not answer. */
function silentPid(error: unknown): number | undefined {
  const { code, data } = failureOf(error);
  if (code !== 'daemon.not-answering' || typeof data !== 'object' || data === null) return undefined;
  const pid: unknown = Reflect.get(data, 'pid');
  return typeof pid === 'number' && pid > 1 ? pid : undefined;
}
