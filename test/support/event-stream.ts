import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { FleetEvent } from '../../sidecar/protocol/protocol.ts';
import { gone, type SidecarHarness } from './sidecar.ts';

/** An event of the fleet and when it was seen, in milliseconds since the epoch. */
export type SeenEvent = FleetEvent & { seenAt: number };

/** `fairlead events --follow`: everything that happens, as it happens. */
export class EventStream implements AsyncDisposable {
  readonly seen: SeenEvent[] = [];
  readonly #child: ChildProcess;
  readonly #watchers = new Set<() => void>();

  constructor(fairlead: SidecarHarness) {
    this.#child = spawn(process.execPath, [fairlead.program, 'events', '--follow', '--json'], {
      cwd: fairlead.home,
      env: fairlead.environment,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    if (this.#child.stdout === null) throw new Error('no output');
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.seen.push({ ...JSON.parse(line), seenAt: Date.now() });
      for (const look of [...this.#watchers]) look();
    });
  }

  /** Resolves with the first event, past or to come, that is as `wanted` says. */
  until(wanted: (event: SeenEvent) => boolean, timeoutMs = 30_000): Promise<SeenEvent> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#watchers.delete(look);
      };
      const timer = setTimeout(() => {
        end();
        reject(
          new Error(`no such event; seen:\n${this.seen.map((each) => JSON.stringify(each)).join('\n')}`),
        );
      }, timeoutMs);
      const look = () => {
        const found = this.seen.find(wanted);
        if (found === undefined) return;
        end();
        resolve(found);
      };
      this.#watchers.add(look);
      look();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pid } = this.#child;
    this.#child.kill('SIGKILL');
    if (pid !== undefined) await gone(pid);
  }
}
