import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * What a program starts and leaves in the file system, known by the folder for temporary files that it is given here:
 * each process has it in its environment or in its command. Linux only.
 */
export class Traces {
  readonly #folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));

  constructor() {
    process.env.TMPDIR = this.#folder;
  }

  /** Ends and removes everything. At once, in one turn: whoever goes on with its work starts nothing meanwhile. */
  remove(): void {
    for (let left = this.#processes(); left.length > 0; left = this.#processes()) {
      for (const pid of left) kill(pid);
      wait(20);
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  #processes(): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .filter((name) => ['cmdline', 'environ'].some((file) => contentOf(name, file).includes(this.#folder)))
      .map(Number);
  }
}

/** Empty for a process that has ended. */
function contentOf(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

function wait(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
