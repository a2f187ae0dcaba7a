import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** A configuration or state file that somebody else may have written is never larger, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * The text of a file that others can put there. What is no file is refused before it is read: a FIFO would never end.
 * @throws as `readFileSync`, also for what is no regular file (`EINVAL`) or too large (`EFBIG`)
 */
export function readTextFile(file: string | Buffer): string {
  return readBytes(file).toString('utf8');
}

/** As {@link readTextFile}. */
export function readBytes(file: string | Buffer): Buffer {
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw refused('EINVAL', `${file} is no regular file`);
    if (stat.size > MAX_BYTES) throw refused('EFBIG', `${file} is too large`);
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

function refused(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}
