/**
 * The pieces of the `vscode` module that the units under test use: plain values as VS Code has them, and calls that are
 * recorded. Whatever a window does with them is shown by the tests in a real one.
 */
import { EventEmitter as NodeEmitter } from 'node:events';

export class Disposable {
  readonly #end: () => void;
  constructor(end: () => void) {
    this.#end = end;
  }
  dispose(): void {
    this.#end();
  }
}

export class EventEmitter<T> {
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

export class Uri {
  readonly scheme: string;
  readonly authority: string;
  readonly path: string;
  readonly query: string;
  readonly fragment: string;

  constructor(parts: {
    scheme: string;
    authority?: string;
    path?: string;
    query?: string;
    fragment?: string;
  }) {
    this.scheme = parts.scheme;
    this.authority = parts.authority ?? '';
    this.path = parts.path ?? '';
    this.query = parts.query ?? '';
    this.fragment = parts.fragment ?? '';
  }
  static from(parts: { scheme: string; authority?: string; path?: string; query?: string }): Uri {
    return new Uri(parts);
  }
  static parse(text: string): Uri {
    const [scheme = '', path = ''] = text.split(/:(.*)/s);
    return new Uri({ scheme, path });
  }
  static joinPath(base: Uri, ...parts: string[]): Uri {
    return new Uri({ ...base, path: [base.path, ...parts].join('/') });
  }
  with(change: { path: string }): Uri {
    return new Uri({ ...this, ...change });
  }
  static file(path: string): Uri {
    return new Uri({ scheme: 'file', path });
  }
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    const query = this.query === '' ? '' : `?${encodeURIComponent(this.query)}`;
    return `${this.scheme}://${this.authority}${encodeURI(this.path)}${query}`;
  }
}

export class ThemeColor {
  readonly id: string;
  constructor(id: string) {
    this.id = id;
  }
}

export class ThemeIcon {
  readonly id: string;
  readonly color: ThemeColor | undefined;
  constructor(id: string, color?: ThemeColor) {
    this.id = id;
    this.color = color;
  }
}

export const TreeItemCollapsibleState = {
  None: 0,
  Collapsed: 1,
  Expanded: 2,
} as const;

export class TreeItem {
  readonly label: string;
  readonly collapsibleState: number;
  constructor(label: string, collapsibleState: number = TreeItemCollapsibleState.None) {
    this.label = label;
    this.collapsibleState = collapsibleState;
  }
}

export class MarkdownString {
  value = '';
  appendMarkdown(text: string): this {
    this.value += text;
    return this;
  }
}

export const FileType = {
  File: 1,
} as const;
export const FileChangeType = {
  Changed: 1,
  Deleted: 3,
} as const;
export const FilePermission = {
  Readonly: 1,
} as const;
export class FileSystemError extends Error {
  static FileNotFound(uri: Uri): FileSystemError {
    return new FileSystemError(`missing: ${uri}`);
  }
  static NoPermissions(uri: Uri): FileSystemError {
    return new FileSystemError(`refused: ${uri}`);
  }
}

export class Position {
  readonly line: number;
  readonly character: number;
  constructor(line: number, character: number) {
    this.line = line;
    this.character = character;
  }
}

export class Range {
  readonly start: { line: number; character: number };
  readonly end: { line: number; character: number };
  constructor(line: number, character: number, endLine: number, endCharacter: number) {
    this.start = { line, character };
    this.end = { line: endLine, character: endCharacter };
  }
}

export class TerminalLink {
  readonly startIndex: number;
  readonly length: number;
  constructor(startIndex: number, length: number) {
    this.startIndex = startIndex;
    this.length = length;
  }
}

export const QuickPickItemKind = {
  Separator: -1,
  Default: 0,
} as const;
export const QuickInputButtons = { Back: { tooltip: 'Back' } } as const;
export const TerminalExitReason = {
  Shutdown: 2,
} as const;
export const TerminalLocation = {
  Panel: 1,
  Editor: 2,
} as const;
export const ProgressLocation = {
  Window: 10,
  Notification: 15,
} as const;
export class TabInputText {
  readonly uri: Uri;
  constructor(uri: Uri) {
    this.uri = uri;
  }
}
export class TabInputTextDiff {
  readonly original: Uri;
  readonly modified: Uri;
  constructor(original: Uri, modified: Uri) {
    this.original = original;
    this.modified = modified;
  }
}
export class TabInputTerminal {}

export class CancellationTokenSource {
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

const never = () => new Disposable(() => {});

/** What a unit does to the window; a test puts the calls in that its unit makes. */
export const window: Record<string, unknown> = {
  state: { focused: true },
  activeTerminal: undefined,
  tabGroups: { all: [], onDidChangeTabs: never },
  registerTerminalLinkProvider: never,
  onDidCloseTerminal: never,
  onDidChangeActiveTerminal: never,
  onDidChangeWindowState: never,
};
export const workspace: Record<string, unknown> = {
  workspaceFolders: undefined,
  textDocuments: [],
  registerFileSystemProvider: never,
  registerTextDocumentContentProvider: never,
  onDidCloseTextDocument: never,
  onDidChangeWorkspaceFolders: never,
  onDidGrantWorkspaceTrust: never,
  isTrusted: true,
  getConfiguration: () => ({ get: (_name: string, fallback: unknown) => fallback }),
  fs: {
    stat: async () => {
      throw new Error('It is not there.');
    },
    delete: async () => {},
  },
};
export const commands: Record<string, unknown> = { executeCommand: async () => undefined };
export const env: Record<string, unknown> = {};
