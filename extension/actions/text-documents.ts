import * as vscode from 'vscode';
import { failureOf } from '../connection/failure.ts';

/** Scheme of texts that are only to be read: a conversation, what a tool was given, a plan. */
export const TEXT_SCHEME = 'fairlead-text';

const LOST = 'This was kept only while it was shown, and is no longer. Answer the session to see it again.\n';

/**
 * Texts that are shown and not kept. What was put in is gone when its editor is closed or the window is reloaded, and
 * says so; what can be `made` of a session is made whenever it is asked for.
 */
export class TextDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #texts = new Map<string, string>();
  #count = 0;
  readonly #makers: Readonly<Record<string, (session: string) => Promise<string>>>;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #disposables: vscode.Disposable[];

  constructor(makers: Readonly<Record<string, (session: string) => Promise<string>>>) {
    this.#makers = makers;
    this.#disposables = [
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(TEXT_SCHEME, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#texts.delete(uri.toString())),
    ];
  }

  /**
   * A URI of its own under which `text` is shown, so that who closes it closes nothing that another shows; `name` is what
   * its tab says and tells the language.
   */
  put(session: string, name: string, text: string): vscode.Uri {
    this.#count += 1;
    const query = String(this.#count);
    // Half a character in the name of a file, as agents may write it, is none that a URI takes.
    const path = `/${name.toWellFormed()}`;
    const uri = vscode.Uri.from({ scheme: TEXT_SCHEME, authority: session, path, query });
    this.#texts.set(uri.toString(), text);
    return uri;
  }

  /** The URI of what is made of a session, as it is by now; `name` as in {@link put}. */
  made(kind: string, session: string, name: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: TEXT_SCHEME, authority: session, path: `/${name}`, query: kind });
    this.#changed.fire(uri);
    return uri;
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const make = Object.hasOwn(this.#makers, uri.query) ? this.#makers[uri.query] : undefined;
    if (make === undefined) return this.#texts.get(uri.toString()) ?? LOST;
    return make(uri.authority).catch((error: unknown) => {
      const { message, hint } = failureOf(error);
      return `${message} ${hint ?? ''}`.trim();
    });
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }
}
