import { join } from 'node:path';

/**
 * Paths inside git are bytes. Here they are strings in which each byte that is not UTF-8 stands as a lone surrogate
 * U+DC80–U+DCFF (as Python's `surrogateescape`), so that every path survives a round trip, also through JSON.
 * They do not survive UTF-8: store such a path as JSON.
 */
export function decodePath(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.includes('\uFFFD') ? decodeSlowly(bytes) : text;
}

/** The bytes of a path from {@link decodePath}. */
export function encodePath(path: string): Buffer {
  if (path.isWellFormed()) return Buffer.from(path, 'utf8');
  const parts: Buffer[] = [];
  for (const character of path) {
    const unit = character.charCodeAt(0);
    const escaped = character.length === 1 && unit >= 0xdc80 && unit <= 0xdcff;
    parts.push(escaped ? Buffer.of(unit - 0xdc00) : Buffer.from(character, 'utf8'));
  }
  return Buffer.concat(parts);
}

/** Where `path` of a checkout lies on disk, in the form that `node:fs` takes. */
export function pathOnDisk(root: string, path: string): string | Buffer {
  if (path.isWellFormed()) return join(root, path);
  return Buffer.concat([Buffer.from(`${root}/`, 'utf8'), encodePath(path)]);
}

/** A path as one line for people: control characters and bytes that are not UTF-8 are escaped. */
export function displayPath(path: string): string {
  let shown = '';
  for (const character of path) {
    const unit = character.codePointAt(0) ?? 0;
    if (unit >= 0xdc80 && unit <= 0xdcff) shown += `\\x${(unit - 0xdc00).toString(16)}`;
    else if (unit < 0x20 || unit === 0x7f) shown += `\\x${unit.toString(16).padStart(2, '0')}`;
    else shown += character;
  }
  return shown;
}

/** The NUL-ended (or NUL-separated) fields of `output`, as bytes. */
export function splitNul(output: Buffer): Buffer[] {
  const fields: Buffer[] = [];
  let start = 0;
  while (start < output.length) {
    const end = output.indexOf(0, start);
    if (end === -1) {
      fields.push(output.subarray(start));
      break;
    }
    fields.push(output.subarray(start, end));
    start = end + 1;
  }
  return fields;
}

/** What `-z` options of git read on stdin: each path ended by NUL. */
export function joinNul(paths: Iterable<string>): Buffer {
  const parts: Buffer[] = [];
  const end = Buffer.of(0);
  for (const path of paths) parts.push(encodePath(path), end);
  return Buffer.concat(parts);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeSlowly(bytes: Buffer): string {
  let text = '';
  let at = 0;
  while (at < bytes.length) {
    const lead = bytes[at] ?? 0;
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    try {
      text += UTF8.decode(bytes.subarray(at, at + length));
      at += length;
    } catch {
      text += String.fromCharCode(0xdc00 + lead);
      at += 1;
    }
  }
  return text;
}
