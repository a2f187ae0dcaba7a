import { inflateRawSync } from 'node:zlib';

export interface ZipEntry {
  name: string;
  /** POSIX mode bits, 0 where the archive has none. */
  mode: number;
  read(): Buffer;
}

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;

/** The files of a ZIP archive (no ZIP64, no encryption). Source: APPNOTE.TXT 4.3. */
export function readZip(archive: Buffer): ZipEntry[] {
  let end = archive.length - 22;
  while (archive.readUInt32LE(end) !== END_OF_DIRECTORY) end -= 1;
  const entries: ZipEntry[] = [];
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (archive.readUInt32LE(at) !== DIRECTORY_ENTRY)
      throw new Error('The directory of the archive is broken.');
    const method = archive.readUInt16LE(at + 10);
    const packed = archive.readUInt32LE(at + 20);
    const nameLength = archive.readUInt16LE(at + 28);
    const local = archive.readUInt32LE(at + 42);
    entries.push({
      name: archive.toString('utf8', at + 46, at + 46 + nameLength),
      mode: archive.readUInt32LE(at + 38) >>> 16,
      read() {
        const from = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
        const bytes = archive.subarray(from, from + packed);
        return method === 0 ? Buffer.from(bytes) : inflateRawSync(bytes);
      },
    });
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return entries;
}
