import { ConnectionError, ConnectionErrors, ErrorCodes, ResponseError } from 'vscode-jsonrpc/node';

/** How vscode-jsonrpc answers a request whose connection ended before, while or after it was written. */
const LOST_CODES: readonly number[] = [
  ErrorCodes.MessageWriteError,
  ErrorCodes.PendingResponseRejected,
  ErrorCodes.ConnectionInactive,
];

/** What a socket says that is written to as its other end goes. */
const BROKEN_SOCKET: readonly unknown[] = [
  'EPIPE',
  'ECONNRESET',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
];

/** Whether a request failed because the other side of its connection is gone, and not by its answer. */
export function isLostConnection(error: unknown): boolean {
  if (error instanceof ResponseError) return LOST_CODES.includes(error.code);
  if (error instanceof ConnectionError) return error.code !== ConnectionErrors.AlreadyListening;
  return error instanceof Error && 'code' in error && BROKEN_SOCKET.includes(error.code);
}
