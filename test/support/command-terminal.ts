import { readlinkSync } from 'node:fs';
import xterm from '@xterm/headless';
import { type IPty, spawn } from 'node-pty';
import type { SidecarHarness } from './sidecar.ts';

export interface CommandTerminalOptions {
  cwd: string;
  cols?: number;
  rows?: number;
  env?: Record<string, string>;
}

/** A person at a terminal in which a program runs: sees the screen, types, changes its size. */
export class CommandTerminal implements Disposable {
  readonly screen: xterm.Terminal;
  /** Everything that was written, as it came. */
  output = '';
  /** Exit code of the program, once it has ended and its last words are on the screen. */
  readonly ended: Promise<number>;
  readonly #pty: IPty;

  constructor(
    file: string,
    args: readonly string[],
    env: Record<string, string>,
    options: CommandTerminalOptions,
  ) {
    const { cwd, cols = 100, rows = 30 } = options;
    this.screen = new xterm.Terminal({ cols, rows, allowProposedApi: true });
    this.#pty = spawn(file, [...args], {
      name: 'xterm-256color',
      cols,
      rows,
      cwd,
      env: { ...env, TERM: 'xterm-256color', ...options.env },
    });
    this.#pty.onData((data) => {
      this.output += data;
      this.screen.write(data);
    });
    this.ended = new Promise((resolve) =>
      // The screen takes its time: what was written last is on it by then.
      this.#pty.onExit(({ exitCode }) => this.screen.write('', () => resolve(exitCode))),
    );
  }

  /** `fairlead ARGS` in a terminal. */
  static run(
    fairlead: SidecarHarness,
    args: readonly string[],
    options: CommandTerminalOptions,
  ): CommandTerminal {
    return new CommandTerminal(process.execPath, [fairlead.program, ...args], fairlead.environment, options);
  }

  get pid(): number {
    return this.#pty.pid;
  }

  /** What is on the screen, without the space at the ends of rows. */
  get text(): string {
    const { active } = this.screen.buffer;
    return Array.from({ length: this.screen.rows }, (_, row) =>
      (active.getLine(active.baseY + row)?.translateToString(true) ?? '').trimEnd(),
    ).join('\n');
  }

  type(keys: string): void {
    this.#pty.write(keys);
  }

  resize(cols: number, rows: number): void {
    this.screen.resize(cols, rows);
    this.#pty.resize(cols, rows);
  }

  /** Waits until the screen shows it; fails with what it shows instead. */
  async shows(what: string | RegExp, timeoutMs = 20_000): Promise<void> {
    const fits = () => (typeof what === 'string' ? this.text.includes(what) : what.test(this.text));
    for (let waited = 0; !fits(); waited += 50) {
      if (waited > timeoutMs) throw new Error(`the screen never shows ${what}:\n${this.text}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  [Symbol.dispose](): void {
    try {
      this.#pty.kill('SIGKILL');
    } catch {
      // It has ended.
    }
    this.screen.dispose();
  }
}

/** The terminal device that is a process's standard input. */
export function terminalOf(pid: number): string {
  return readlinkSync(`/proc/${pid}/fd/0`);
}
