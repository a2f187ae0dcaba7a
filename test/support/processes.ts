import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Command lines of processes that name a folder. */
export async function processesNaming(folder: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-axwwo', 'command='], { maxBuffer: 1 << 24 });
  return stdout.split('\n').filter((line) => line.includes(folder));
}
