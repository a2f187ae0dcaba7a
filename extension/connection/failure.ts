/** What something that failed tells a person. */
export interface Failure {
  code: string;
  message: string;
  hint: string | undefined;
  data: unknown;
}

/** An error with a code, a sentence and a hint, as the sidecar and this extension throw them. */
export class ExtensionError extends Error implements Failure {
  override readonly name = 'FairleadError';
  readonly code: string;
  readonly hint: string | undefined;
  readonly data: unknown;

  constructor(code: string, message: string, detail: { hint?: string | undefined; data?: unknown } = {}) {
    super(message);
    this.code = code;
    this.hint = detail.hint;
    this.data = detail.data;
  }
}

/** What anything that was thrown tells a person. */
export function failureOf(error: unknown): Failure {
  if (isFailure(error)) return error;
  return {
    code: 'internal',
    message: error instanceof Error ? error.message : String(error),
    hint: undefined,
    data: undefined,
  };
}

/** By its shape: the bundle of the client library has the class of its own. */
function isFailure(error: unknown): error is ExtensionError {
  return error instanceof Error && error.name === 'FairleadError' && 'code' in error;
}

/** The data of a `daemon.lost` when nobody has ended the sidecar: it died. */
export const SUDDEN_END = 'sudden-end';

/** Whether the sidecar died while it did what was asked, so that the next one can be asked again. */
export function isSuddenEnd(error: unknown): boolean {
  const { code, data } = failureOf(error);
  return code === 'daemon.lost' && data === SUDDEN_END;
}

export function isCancelled(error: unknown): boolean {
  const name = error instanceof Error ? error.name : '';
  return failureOf(error).code === 'cancelled' || name === 'Canceled' || name === 'CancellationError';
}

/** Paths that a failure names, for what has to be done about it. */
export function pathsOf({ data }: Failure): string[] {
  const paths = typeof data === 'object' && data !== null ? Reflect.get(data, 'paths') : undefined;
  const listed: unknown = Array.isArray(data) ? data : paths;
  return Array.isArray(listed) ? listed.filter((each) => typeof each === 'string') : [];
}

/** Paths that a notification has room for. */
const MAX_PATHS = 8;

/** What went wrong, where, and what to do next: for a notification, and for the log, which is opened from it. */
export function wordsOf(failure: Failure): string {
  const { message, hint = '' } = failure;
  const paths = pathsOf(failure).slice(0, MAX_PATHS);
  return [message, paths.length > 0 ? `(${paths.join(', ')})` : '', hint]
    .filter((part) => part !== '')
    .join(' ');
}
