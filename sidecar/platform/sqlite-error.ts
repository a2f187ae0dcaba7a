import { FairleadError, messageOf } from '../protocol/errors.ts';

/** SQLite's primary result codes. Source: sqlite.org/rescode.html */
export const READONLY = 8;
export const BUSY = 5;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;

/** SQLite's primary result code of an error; undefined when it is none of SQLite's. */
export function resultCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
}

/** What SQLite or the system says of `file`, in the words of the error family; anything unknown as it is. */
export function storeError(file: string, error: unknown): unknown {
  if (error instanceof FairleadError) return error;
  const code = resultCode(error);
  const system = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === CORRUPT || code === NOTADB) return damaged(file, messageOf(error), error);
  if (code === READONLY || code === CANTOPEN || system === 'EACCES' || system === 'EROFS') {
    return new FairleadError('home.read-only', `${file} cannot be written (${messageOf(error)}).`, {
      hint: 'Make the folder writable, or set FAIRLEAD_HOME to one that is.',
      cause: error,
    });
  }
  if (code === FULL || system === 'ENOSPC' || system === 'EDQUOT') {
    return new FairleadError('disk.full', `The disk of ${file} is full.`, {
      hint: 'Free some space and try again.',
      cause: error,
    });
  }
  return error;
}

export function damaged(file: string, why: string, cause?: unknown): FairleadError {
  return new FairleadError('store.damaged', `${file} is damaged (${why}).`, {
    hint: 'It was left as it is. Move it aside to start with an empty fleet; branches and worktrees stay.',
    cause,
  });
}
