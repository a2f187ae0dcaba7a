import type { ErrorCode } from '../protocol/errors.ts';

/** 0 done, 1 failed, 2 wrong usage, 3 not found, 4 timed out. */
export type ExitCode = 0 | 1 | 2 | 3 | 4;

/** What shells take for ended by Ctrl-C: 128 and the number of SIGINT. */
export const INTERRUPTED = 130;

const BY_CODE: Partial<Record<ErrorCode, ExitCode>> = {
  usage: 2,
  'params.invalid': 2,
  'session.ambiguous': 2,
  'session.missing': 3,
  'agent.unsupported': 3,
  'base.missing': 3,
  'repo.missing': 3,
  'queue.not-queued': 3,
  'daemon.not-running': 3,
  'wait.timed-out': 4,
};

export function exitCodeOf(code: ErrorCode): ExitCode {
  return BY_CODE[code] ?? 1;
}
