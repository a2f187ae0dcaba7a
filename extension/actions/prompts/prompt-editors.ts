import * as vscode from 'vscode';
import { showInformation } from '../../window/messages.ts';

/** Untitled editors in which texts for agents are written. Their names say what for: an editor's button goes by it. */
export class PromptEditors {
  readonly #opening = new Set<string>();
  readonly #sending = new Set<string>();

  /** Opens one with `text`, called `name` or, when there is one already, with a number. Gives its URI. */
  async open(name: string, text: string): Promise<vscode.Uri> {
    const taken = new Set([...this.#opening, ...vscode.workspace.textDocuments.map(({ uri }) => uri.path)]);
    let path = `${name}.md`;
    for (let n = 2; taken.has(path); n += 1) path = `${name} ${n}.md`;
    this.#opening.add(path);
    try {
      const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(`untitled:${path}`));
      const editor = await vscode.window.showTextDocument(document, { preview: false });
      if (text !== '') await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), text));
      return document.uri;
    } finally {
      this.#opening.delete(path);
    }
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
   * Sends `text` of `editor`, which is closed then where it is untitled, unless the person has written on in it. `send` gives
   * false for what was not sent after all. False for that, and where the editor's text is being sent already.
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
    if (!document.isUntitled) return true;
    if (document.getText().trim() !== text) {
      void showInformation('It was sent as it was then. What you have written since stays in the editor.');
    } else if (vscode.window.activeTextEditor?.document === document) {
      // The text is sent by now; closing must not ask whether to save it.
      await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    }
    return true;
  }
}
