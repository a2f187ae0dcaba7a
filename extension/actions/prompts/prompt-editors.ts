import * as vscode from 'vscode';
import { showInformation } from '../../window/messages.ts';

/** Editors in which texts for agents are written. Their names say what for: an editor's button goes by it. */
export class PromptEditors {
  readonly #folder: vscode.Uri;
  readonly #opening = new Set<string>();
  readonly #sending = new Set<string>();

  /**
   * @param folder where a text lies that the person saves. The editors are untitled ones of files in it: VS Code brings
   * back those after a reload, and one that has a name and no folder empty.
   */
  constructor(folder: vscode.Uri) {
    this.#folder = folder;
  }

  /** What an editor of these is called; undefined for any other. */
  nameOf({ uri }: vscode.TextDocument): string | undefined {
    const isOwn = uri.path.startsWith(`${this.#folder.path}/`);
    return isOwn ? uri.path.slice(this.#folder.path.length + 1) : undefined;
  }

  /** Opens one with `text`, called `name` or, when there is one already, with a number. Gives its URI. */
  async open(name: string, text: string): Promise<vscode.Uri> {
    const path = await this.#reserve(name);
    try {
      const document = await vscode.workspace.openTextDocument(vscode.Uri.from({ scheme: 'untitled', path }));
      const editor = await vscode.window.showTextDocument(document, { preview: false });
      if (text !== '') await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), text));
      return document.uri;
    } finally {
      this.#opening.delete(path);
    }
  }

  /** A path that no editor has, nor is about to have, until it is let go of; nor a file that the person has saved. */
  async #reserve(name: string): Promise<string> {
    for (let n = 1; ; n += 1) {
      const { path } = vscode.Uri.joinPath(this.#folder, n === 1 ? `${name}.md` : `${name} ${n}.md`);
      const isOpen = vscode.workspace.textDocuments.some(({ uri }) => uri.path === path);
      if (isOpen || this.#opening.has(path)) continue;
      // Before anything is waited for: another flow asks for the same name meanwhile.
      this.#opening.add(path);
      if (!(await this.#isSaved(path))) return path;
      this.#opening.delete(path);
    }
  }

  #isSaved(path: string): Promise<boolean> {
    const stat = vscode.workspace.fs.stat(this.#folder.with({ path }));
    return Promise.resolve(stat).then(
      () => true,
      () => false,
    );
  }

  /** What `editor` holds, trimmed; undefined, and said so, where it holds nothing or is being sent. */
  async textOf({ document }: vscode.TextEditor): Promise<string | undefined> {
    const text = document.getText().trim();
    if (text === '') await showInformation('Write the text first, then send it.');
    else if (this.#sending.has(document.uri.toString())) {
      await showInformation('The text of this editor is being sent already.');
    } else return text;
    return undefined;
  }

  /**
   * Sends `text` of `editor`, which is closed then where it is one of these, unless the person has written on in it. `send`
   * gives false for what was not sent after all. False for that, and where the editor's text is being sent already.
   */
  async send({ document }: vscode.TextEditor, text: string, send: () => Promise<boolean>): Promise<boolean> {
    const key = document.uri.toString();
    if (this.#sending.has(key)) return false;
    this.#sending.add(key);
    try {
      if (!(await send())) return false;
    } finally {
      this.#sending.delete(key);
    }
    if (this.nameOf(document) === undefined) return true;
    if (document.getText().trim() !== text) {
      void showInformation('It was sent as it was then. What you have written since stays in the editor.');
    } else if (vscode.window.activeTextEditor?.document === document) {
      // The text is sent by now; closing must not ask whether to save it.
      await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
      // There where the person has saved it. It was sent, whatever becomes of the file.
      if (!document.isUntitled)
        await Promise.resolve(vscode.workspace.fs.delete(document.uri)).catch(() => {});
    }
    return true;
  }
}
