import { CancellationTokenSource, commands, Disposable, EventEmitter, window, workspace } from './vscode.ts';

/** A terminal that nobody sees. */
interface FakeTerminal {
  name: string;
  show(): void;
  dispose(): void;
}

/**
 * A window as commands and the connection use it: state that a test sets, and calls that it reads. What stands for
 * `vscode` is about the one that was made last.
 */
export class FakeWindow {
  isTrusted = true;
  /** What the person has set, by the name below `fairlead`. */
  settings: Readonly<Record<string, unknown>> = {};
  /** What is told, in order. */
  readonly said: string[] = [];
  /** Titles of what was asked. */
  readonly asked: string[] = [];
  /** What the person picks, by the title or the message; nothing unless a test says otherwise. */
  pick: (title: string) => unknown = () => undefined;
  readonly terminals: FakeTerminal[] = [];
  /** Long work that was shown, with whether it had a Cancel. */
  readonly progress: { title: string; isCancellable: boolean }[] = [];
  /** Whether the person presses Cancel, by the title of what is being done. */
  cancels: (title: string) => boolean = () => false;
  /** Contents of editors that were opened. */
  readonly editors: string[] = [];
  readonly #commands = new Map<string, (...args: unknown[]) => unknown>();
  readonly #trusted = new EventEmitter<void>();

  constructor() {
    const say = async (text: string) => {
      this.said.push(text);
      return this.pick(text);
    };
    const ask = async ({ title = '' }: { title?: string } = {}) => {
      this.asked.push(title);
      return this.pick(title);
    };
    Object.assign(commands, {
      registerCommand: (id: string, run: (...args: unknown[]) => unknown) => {
        this.#commands.set(id, run);
        return new Disposable(() => this.#commands.delete(id));
      },
    });
    Object.assign(window, {
      showInformationMessage: say,
      showWarningMessage: say,
      showErrorMessage: say,
      showQuickPick: (_items: unknown, options?: { title?: string }) => ask(options),
      showInputBox: ask,
      withProgress: async (
        { title, cancellable }: { title: string; cancellable: boolean },
        run: (progress: object, token: object) => unknown,
      ) => {
        this.progress.push({ title, isCancellable: cancellable });
        const source = new CancellationTokenSource();
        const running = run({ report: () => {} }, source.token);
        if (cancellable && this.cancels(title)) source.cancel();
        return running;
      },
      setStatusBarMessage: (text: string) => {
        this.said.push(text);
        return new Disposable(() => {});
      },
      showTextDocument: async (content: string) => void this.editors.push(content),
      createTerminal: ({ name }: { name: string }) => {
        const terminal: FakeTerminal = { name, show: () => {}, dispose: () => {} };
        this.terminals.push(terminal);
        return terminal;
      },
    });
    Object.assign(workspace, {
      onDidGrantWorkspaceTrust: this.#trusted.event,
      openTextDocument: async ({ content }: { content: string }) => content,
      getConfiguration: () => ({
        get: (name: string, standard: unknown) => this.settings[name] ?? standard,
      }),
    });
    Object.defineProperty(workspace, 'isTrusted', { get: () => this.isTrusted, configurable: true });
  }

  /** As the person who trusts the workspace. */
  trust(): void {
    this.isTrusted = true;
    this.#trusted.fire();
  }

  /** As the person who runs a command from the palette, or with `args` from a menu. */
  async run(id: string, ...args: unknown[]): Promise<unknown> {
    const command = this.#commands.get(id);
    if (command === undefined) throw new Error(`no command ${id}`);
    return command(...args);
  }
}
