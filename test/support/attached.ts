import xterm from '@xterm/headless';
import { type IPty, spawn } from 'node-pty';
import { sleep } from '../../sidecar/platform/clock.ts';
import type { SidecarHarness } from './sidecar.ts';

/** `fairlead attach` in a terminal of its own, with a person's eyes and hands. */
export class Attached implements AsyncDisposable {
  readonly #pty: IPty;
  readonly #screen = new xterm.Terminal({ cols: 120, rows: 40, allowProposedApi: true });
  readonly #ended: Promise<void>;
  #end: { exitCode: number } | undefined;

  constructor(fairlead: SidecarHarness, session: string, ...args: string[]) {
    this.#pty = spawn(process.execPath, [fairlead.program, 'attach', session, ...args], {
      cols: 120,
      rows: 40,
      cwd: fairlead.home,
      env: { ...fairlead.environment, TERM: 'xterm-256color' },
    });
    this.#pty.onData((data) => this.#screen.write(data));
    this.#ended = new Promise((resolve) =>
      this.#pty.onExit(({ exitCode }) => {
        this.#end = { exitCode };
        resolve();
      }),
    );
  }

  /** Exit code of the command, undefined while it runs. */
  get exitCode(): number | undefined {
    return this.#end?.exitCode;
  }

  screen(): string[] {
    const buffer = this.#screen.buffer.active;
    return Array.from(
      { length: this.#screen.rows },
      (_, row) => buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? '',
    );
  }

  type(keys: string): void {
    this.#pty.write(keys);
  }

  /**
   * Presses `keys`, and again when a second goes by without `done`, as a person would: some dialogs are drawn before
   * they take keys.
   */
  async press(keys: string, done: (screen: string[]) => boolean): Promise<void> {
    let pressed = Number.NEGATIVE_INFINITY;
    await this.until(
      (screen) => {
        if (done(screen)) return true;
        if (Date.now() - pressed > 1_000) {
          this.type(keys);
          pressed = Date.now();
        }
        return false;
      },
      `what ${JSON.stringify(keys)} does`,
    );
  }

  /** Resolves once the screen shows `text`. */
  shows(text: string): Promise<void> {
    return this.until((rows) => rows.join('\n').includes(text), `"${text}"`);
  }

  async until(wanted: (screen: string[]) => boolean, what = 'the screen'): Promise<void> {
    for (const end = Date.now() + 30_000; !wanted(this.screen()); await sleep(30)) {
      if (Date.now() < end) continue;
      throw new Error(`${what} did not come; the screen is\n${this.screen().join('\n').trimEnd()}`);
    }
  }

  /** Leaves as a person does; the agent goes on. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#end === undefined) {
      this.#pty.write('\u001c');
      const late = setTimeout(() => this.#pty.kill('SIGKILL'), 10_000);
      await this.#ended;
      clearTimeout(late);
    }
    this.#screen.dispose();
  }
}
