import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { isRunning, processTree, signal } from './process-tree.ts';

export interface KilledProgram {
  /** Of the terminal, for the log. */
  id: string;
  pid: number;
  hasExited(): boolean;
}

/** Ends a program with everything that it started. */
export class TreeKill {
  readonly #program: KilledProgram;
  readonly #clock: Clock;
  readonly #log: Log;
  #cancelTimer: (() => void) | undefined;
  #killNow: (() => void) | undefined;

  constructor(program: KilledProgram, clock: Clock, log: Log) {
    this.#program = program;
    this.#clock = clock;
    this.#log = log;
  }

  /** `name` at once, SIGKILL to what is left after `graceMs`. */
  begin(name: NodeJS.Signals, graceMs: number): void {
    const { id, pid: leader, hasExited } = this.#program;
    const tree = processTree(leader);
    this.#log.info('terminal.kill', { id, signal: name, processes: tree.length });
    for (const { pid } of tree) signal(pid, name);
    // A stopped program gets its signal only when it goes on.
    for (const { pid } of tree) signal(pid, 'SIGCONT');
    this.#cancelTimer?.();
    this.#killNow = () => {
      this.#killNow = undefined;
      this.#cancelTimer?.();
      // What was forked meanwhile is found again; once the program is gone its id may be another's.
      const found = hasExited() ? [] : processTree(leader);
      for (const mark of [...tree, ...found]) if (isRunning(mark)) signal(mark.pid, 'SIGKILL');
    };
    this.#cancelTimer = this.#clock.after(graceMs, this.#killNow);
  }

  /** Does now what {@link begin} would do after its grace. */
  end(): void {
    this.#killNow?.();
  }
}
