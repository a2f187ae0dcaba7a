import type * as vscode from 'vscode';
import { part } from '../../../support/part.ts';
import { EventEmitter, QuickInputButtons, type Uri, window, workspace } from '../../../support/vscode.ts';

type Button = vscode.QuickInputButton;

/** A question as VS Code shows it: one at a time, so that the next one hides it. */
class Question {
  title = '';
  buttons: readonly Button[] = [];
  ignoreFocusOut = false;
  readonly #questions: Questions;
  readonly #accepted = new EventEmitter<void>();
  readonly #pressed = new EventEmitter<Button>();
  readonly #hidden = new EventEmitter<void>();
  readonly onDidAccept = this.#accepted.event;
  readonly onDidTriggerButton = this.#pressed.event;
  readonly onDidHide = this.#hidden.event;

  constructor(questions: Questions) {
    this.#questions = questions;
  }

  show(): void {
    this.#questions.show(this);
  }
  dispose(): void {
    if (this.#questions.shown === this) this.#questions.shown = undefined;
  }
  /** As anything that is opened over it does, and Escape. */
  hide(): void {
    this.dispose();
    this.#hidden.fire();
  }
  enter(): void {
    this.#accepted.fire();
  }
  back(): void {
    if (!this.buttons.some((button) => button === QuickInputButtons.Back))
      throw new Error(`no way back from ${this.title}`);
    this.#pressed.fire(part<Button>(QuickInputButtons.Back));
  }
  pencil(): void {
    const [pencil] = this.buttons.filter(({ tooltip }) => tooltip === 'Go on in an editor');
    if (pencil === undefined) throw new Error(`no pencil in ${this.title}`);
    this.#pressed.fire(pencil);
  }
}

export class Box extends Question {
  value = '';
  prompt: string | undefined;
  validationMessage: string | undefined;
  readonly #typed = new EventEmitter<string>();
  readonly onDidChangeValue = this.#typed.event;

  type(text: string): this {
    this.value = text;
    this.#typed.fire(text);
    return this;
  }
}

export class List extends Question {
  placeholder = '';
  items: readonly vscode.QuickPickItem[] = [];
  selectedItems: readonly vscode.QuickPickItem[] = [];

  /** What stands at the line whose label holds `label`. */
  line(label: string): string {
    return this.items.find((item) => item.label.includes(label))?.description ?? '';
  }
  pick(label: string): void {
    this.selectedItems = this.items.filter((item) => item.label.includes(label));
    if (this.selectedItems.length !== 1) throw new Error(`no one ${label} in ${this.title}`);
    this.enter();
  }
}

/** An untitled editor that was opened. */
export class Editor {
  text = '';
  readonly document: { uri: Uri; isUntitled: boolean; getText(): string };
  constructor(uri: Uri) {
    this.document = { uri, isUntitled: uri.scheme === 'untitled', getText: () => this.text };
  }
  async edit(change: (edit: { insert(at: object, text: string): void }) => void): Promise<void> {
    change({
      insert: (_at, text) => {
        this.text += text;
      },
    });
  }
}

/** The questions and editors of a window. What stands for `vscode` is about the one that was made last. */
export class Questions {
  shown: Question | undefined;
  readonly editors: Editor[] = [];

  constructor() {
    Object.assign(window, {
      createInputBox: () => new Box(this),
      createQuickPick: () => new List(this),
      activeTextEditor: undefined,
      showTextDocument: async ({ uri }: { uri: Uri }) => {
        const editor = this.editors.find(({ document }) => document.uri.path === uri.path) ?? new Editor(uri);
        if (!this.editors.includes(editor)) this.editors.push(editor);
        window.activeTextEditor = editor;
        return editor;
      },
    });
    Object.defineProperty(workspace, 'textDocuments', {
      get: () => this.editors.map(({ document }) => document),
      configurable: true,
    });
    workspace.openTextDocument = async (uri: Uri) => ({ uri });
  }

  show(question: Question): void {
    const before = this.shown;
    this.shown = question;
    if (before !== question) before?.hide();
    this.shown = question;
  }

  /** The box that is shown, once there is one. */
  box(): Promise<Box> {
    return this.#wait(Box);
  }

  /** The list that is shown, once there is one; called so, if that is said. */
  list(title?: string): Promise<List> {
    return this.#wait(List, title);
  }

  async #wait<Kind extends Question>(
    kind: new (questions: Questions) => Kind,
    title?: string,
  ): Promise<Kind> {
    for (let turn = 0; turn < 200; turn += 1) {
      const { shown } = this;
      if (shown instanceof kind && (title === undefined || shown.title.startsWith(title))) return shown;
      await new Promise((resolve) => setImmediate(resolve));
    }
    throw new Error(`asked is ${this.shown?.title ?? 'nothing'}`);
  }
}
