import { EventEmitter as NodeEmitter } from 'node:events';

class Disposable {
  readonly #end: () => void;
  constructor(end: () => void) {
    this.#end = end;
  }
  dispose(): void {
    this.#end();
  }
}

class EventEmitter<T> {
  readonly #node = new NodeEmitter().setMaxListeners(0);
  readonly event = (listener: (value: T) => void): Disposable => {
    this.#node.on('event', listener);
    return new Disposable(() => this.#node.off('event', listener));
  };
  fire(value: T): void {
    this.#node.emit('event', value);
  }
  dispose(): void {
    this.#node.removeAllListeners();
  }
}

class CancellationTokenSource {
  readonly #cancelled = new EventEmitter<void>();
  readonly token = {
    isCancellationRequested: false,
    onCancellationRequested: this.#cancelled.event,
  };
  cancel(): void {
    this.token.isCancellationRequested = true;
    this.#cancelled.fire();
  }
  dispose(): void {}
}

/** What a test needs of something larger. */
export function part<Whole>(some: object): Whole {
  return some as Whole;
}

/** A terminal that nobody sees. */
interface FakeTerminal {
  name: string;
  show(): void;
  dispose(): void;
}

/**
 * The pieces of `vscode` that commands and the connection use: state that a test sets, and calls that it reads. For
 * `vi.mock('vscode', …)`.
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
  /** Contents of editors that were opened. */
  readonly editors: string[] = [];
  readonly #commands = new Map<string, (...args: unknown[]) => unknown>();
  readonly #trusted = new EventEmitter<void>();

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

  /** What `import 'vscode'` gives. */
  module() {
    const say = async (text: string) => {
      this.said.push(text);
      return this.pick(text);
    };
    const never = () => new Disposable(() => {});
    const self = this;
    return {
      Disposable,
      EventEmitter,
      CancellationTokenSource,
      ThemeIcon: class {},
      ThemeColor: class {},
      TabInputTerminal: class {},
      TabInputText: class {},
      TabInputTextDiff: class {},
      TerminalLocation: { Panel: 1, Editor: 2 },
      TerminalExitReason: { Shutdown: 2 },
      QuickPickItemKind: { Separator: -1, Default: 0 },
      FileChangeType: { Changed: 1 },
      FileType: { File: 1 },
      FilePermission: { Readonly: 1 },
      ProgressLocation: { Notification: 15 },
      Uri: { from: (parts: object) => ({ ...parts }), file: (path: string) => ({ scheme: 'file', path }) },
      FileSystemError: { FileNotFound: () => new Error('not found') },
      commands: {
        registerCommand: (id: string, run: (...args: unknown[]) => unknown) => {
          this.#commands.set(id, run);
          return new Disposable(() => this.#commands.delete(id));
        },
        executeCommand: async () => undefined,
      },
      window: {
        state: { focused: true },
        activeTerminal: undefined,
        tabGroups: { all: [], onDidChangeTabs: never },
        onDidCloseTerminal: never,
        onDidChangeActiveTerminal: never,
        onDidChangeWindowState: never,
        showInformationMessage: say,
        showWarningMessage: say,
        showErrorMessage: say,
        showQuickPick: async (_items: unknown, options: { title?: string } = {}) => {
          this.asked.push(options.title ?? '');
          return this.pick(options.title ?? '');
        },
        showInputBox: async (options: { title?: string } = {}) => {
          this.asked.push(options.title ?? '');
          return this.pick(options.title ?? '');
        },
        withProgress: async (_options: unknown, run: (progress: object, token: object) => unknown) =>
          run({ report: () => {} }, new CancellationTokenSource().token),
        showTextDocument: async (content: string) => void this.editors.push(content),
        createTerminal: ({ name }: { name: string }) => {
          const terminal: FakeTerminal = { name, show: () => {}, dispose: () => {} };
          this.terminals.push(terminal);
          return terminal;
        },
      },
      workspace: {
        get isTrusted() {
          return self.isTrusted;
        },
        onDidGrantWorkspaceTrust: this.#trusted.event,
        openTextDocument: async ({ content }: { content: string }) => content,
        onDidChangeWorkspaceFolders: never,
        workspaceFolders: undefined,
        getConfiguration: () => ({
          get: (name: string, standard: unknown) => this.settings[name] ?? standard,
        }),
        registerFileSystemProvider: never,
      },
    };
  }
}
