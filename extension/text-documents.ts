import * as vscode from 'vscode';

/** Scheme of texts that are only to be read: a conversation, what a tool was given, a plan. */
export const TEXT_SCHEME = 'fairlead-text';

/** Texts that are shown and not kept: gone when their editor is closed. */
export class TextDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #disposables: vscode.Disposable[];

  constructor() {
    this.#disposables = [
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(TEXT_SCHEME, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#texts.delete(uri.toString())),
    ];
  }

  /** The URI under which `text` is shown; `name` is what its tab says and tells the language. */
  put(group: string, name: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: TEXT_SCHEME, authority: group, path: `/${name}` });
    this.#texts.set(uri.toString(), text);
    this.#changed.fire(uri);
    return uri;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? '';
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }
}
