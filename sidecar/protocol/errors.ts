/**
 * Every error that a person can meet. A code is stable: scripts and tests match on it, never on the sentence.
 * The command line, the socket and VS Code all show the same code, sentence and hint.
 */
export const ERROR_CODES = [
  'agent.missing',
  'agent.too-old',
  'agent.unsupported',
  'answer.need-changed',
  'answer.nothing-to-answer',
  'archive.unsaved',
  'base.missing',
  'branch.namespace-taken',
  'branch.taken',
  'cancelled',
  'client.too-new',
  'client.too-old',
  'config.invalid',
  'cost.unreadable',
  'daemon.lost',
  'daemon.not-answering',
  'daemon.not-running',
  'daemon.spawn-failed',
  'disk.full',
  'git.failed',
  'git.missing',
  'git.no-identity',
  'git.signing-failed',
  'git.too-old',
  'home.read-only',
  'home.socket-path-too-long',
  'internal',
  'land.already-queued',
  'land.base-diverged',
  'land.branch-missing',
  'land.no-remote',
  'land.not-landed',
  'land.nothing-to-land',
  'land.uncommitted',
  'land.where-to-unset',
  'land.work-elsewhere',
  'node.missing',
  'params.invalid',
  'prompt.sent',
  'prompt.undelivered',
  'ptyhost.lost',
  'ptyhost.protocol',
  'ptyhost.unsupported',
  'queue.not-queued',
  'repo.bare',
  'repo.detached-head',
  'repo.missing',
  'repo.no-commit',
  'repo.unsafe',
  'session.ambiguous',
  'session.archived',
  'session.key-taken',
  'session.missing',
  'session.not-running',
  'store.damaged',
  'store.newer',
  'terminal.gone',
  'terminal.refused',
  'terminal.running',
  'terminal.ticket-refused',
  'transcript.interrupted',
  'transcript.unreadable',
  'usage',
  'wait.timed-out',
  'worktree.broken',
  'worktree.failed',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export interface ErrorDetail {
  /** What the person can do next: one sentence, imperative. */
  hint?: string;
  /** Machine-readable context, JSON only (paths, choices, limits). */
  data?: unknown;
  cause?: unknown;
}

/** The only error type that crosses a module border on purpose; anything else is a defect and shows as `internal`. */
export class FairleadError extends Error {
  override readonly name = 'FairleadError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly data: unknown;

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.hint = detail.hint;
    this.data = detail.data;
  }
}

/** The `data` member of a JSON-RPC error that carries a {@link FairleadError}. */
export interface WireError {
  code: ErrorCode;
  hint?: string;
  data?: unknown;
}

/** JSON-RPC error number under which every {@link FairleadError} travels; its own code is in `data.code`. */
export const WIRE_ERROR_NUMBER = -32050;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && (ERROR_CODES as readonly string[]).includes(value);
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** `error` itself when it is ours, `disk.full` when the system says so, else an `internal` error; with it as the cause. */
export function asFairleadError(error: unknown): FairleadError {
  if (error instanceof FairleadError) return error;
  if (error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) {
    const path =
      'path' in error && typeof error.path === 'string' ? `: ${error.path} could not be written` : '';
    return new FairleadError('disk.full', `The disk is full${path}.`, {
      hint: 'Free some space and try again.',
      cause: error,
    });
  }
  return new FairleadError('internal', messageOf(error), {
    hint: 'Run `fairlead logs` and report what it shows.',
    cause: error,
  });
}
