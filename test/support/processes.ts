import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Processes whose command line names a folder. */
export async function processesNaming(folder: string): Promise<{ pid: number; command: string }[]> {
  const { stdout } = await promisify(execFile)('ps', ['-axwwo', 'pid=,command='], { maxBuffer: 1 << 24 });
  const lines = stdout.split('\n').filter((line) => line.includes(folder));
  return lines.map((line) => {
    const [, pid = '', command = ''] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
    return { pid: Number(pid), command };
  });
}
