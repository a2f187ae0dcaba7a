import { beforeEach, describe, expect, it } from 'vitest';
import { newSession, newSessionFromEditor } from '../../../extension/actions/new-session.ts';
import { window, workspace } from '../../support/vscode.ts';
import { sessionOf } from './support/sessions.ts';

/** What the person does at each prompt box: types, then presses Enter, the pencil or Escape. */
type Act = (box: Box) => void;

class Box {
  value = '';
  #accept = () => {};
  #hide = () => {};
  #press = () => {};
  onDidAccept(listener: () => void): void {
    this.#accept = listener;
  }
  onDidHide(listener: () => void): void {
    this.#hide = listener;
  }
  onDidTriggerButton(listener: () => void): void {
    this.#press = listener;
  }
  onDidChangeValue(): void {}
  dispose(): void {}
  show(): void {
    setImmediate(() => {
      const act = acts.shift();
      if (act === undefined) throw new Error('asked once more');
      act(this);
    });
  }
  type(text: string): this {
    this.value = text;
    return this;
  }
  enter(): void {
    this.#accept();
  }
  escape(): void {
    this.#hide();
  }
  pencil(): void {
    this.#press();
  }
}

/** The review, at which the next of `reviews` happens. */
class Review {
  items: readonly { label: string }[] = [];
  selectedItems: readonly { label: string }[] = [];
  buttons: readonly object[] = [];
  #accept = () => {};
  #hide = () => {};
  #press = () => {};
  onDidAccept(listener: () => void): void {
    this.#accept = listener;
  }
  onDidHide(listener: () => void): void {
    this.#hide = listener;
  }
  onDidTriggerButton(listener: () => void): void {
    this.#press = listener;
  }
  dispose(): void {}
  show(): void {
    setImmediate(() => {
      const act = reviews.shift();
      if (act === undefined) return this.#hide();
      if (act === 'Back' && this.buttons.length > 0) return this.#press();
      this.selectedItems = this.items.filter(({ label }) => label.includes(act));
      return this.#accept();
    });
  }
}

let acts: Act[];
/** What is picked at each review, or its button; undefined for Escape. */
let reviews: ('Start' | 'Permission mode' | 'Back' | undefined)[];
let editors: { uri: string; text: string }[];
let chosen: number;
let started: object[];
let failure: Error | undefined;

beforeEach(() => {
  acts = [];
  reviews = [];
  editors = [];
  chosen = 0;
  started = [];
  failure = undefined;
  window.createInputBox = () => new Box();
  window.createQuickPick = () => new Review();
  window.showQuickPick = async (items: readonly { label: string }[]) =>
    items.find(({ label }) => label === 'plan');
  window.showInformationMessage = async () => undefined;
  window.activeTextEditor = undefined;
  workspace.openTextDocument = async (uri: object) => ({ uri });
  window.showTextDocument = async ({ uri }: { uri: object }) => {
    const editor = { uri: uri.toString(), text: '' };
    editors.push(editor);
    return {
      edit: async (change: (edit: { insert(at: object, text: string): void }) => void) =>
        change({
          insert: (_at, text) => {
            editor.text += text;
          },
        }),
    };
  };
});

const session = sessionOf({ id: 'one' });
const request = async (name: string, params: object): Promise<never> => {
  if (name === 'FindRepository') return { branch: 'main', branches: [], uncommitted: [] } as never;
  if (failure !== undefined) throw failure;
  started.push(params);
  return { session, attempts: [], notes: [], leftBehind: 0 } as never;
};
const parts = {
  connection: { start: async (): Promise<never> => undefined as never, request, requestOnce: request },
  fleet: { get: () => session, load: async () => {} },
  repositories: {
    all: ['/a', '/b'],
    findAgain: async () => {},
    choose: async () => {
      chosen += 1;
      return '/b';
    },
  },
  terminals: { show() {} },
};

describe('a prompt that was typed', () => {
  it('is in the editor that the pencil opens, for the repository that was chosen', async () => {
    acts = [(box) => box.type('Do this and').pencil()];
    await newSession(parts);
    expect(editors).toMatchObject([{ text: 'Do this and' }]);
    const uri = { toString: () => editors[0]?.uri };
    window.activeTextEditor = { document: { uri, getText: () => 'Do this and that', isUntitled: false } };
    reviews = [undefined, 'Start'];
    await newSessionFromEditor(parts);
    await newSessionFromEditor(parts);
    expect(started).toMatchObject([{ folder: '/b', prompt: 'Do this and that' }]);
    expect(chosen).toBe(1);
  });

  it.each(['Back', undefined] as const)('is there again after %s at the review', async (leaving) => {
    const seen: string[] = [];
    acts = [
      (box) => box.type('Do this').enter(),
      (box) => {
        seen.push(box.value);
        box.type(`${box.value} well`).enter();
      },
    ];
    reviews = [leaving, 'Start'];
    await newSession(parts);
    expect(seen).toEqual(['Do this']);
    expect(started).toMatchObject([{ prompt: 'Do this well' }]);
    expect(chosen).toBe(1);
  });

  it('is left by Escape at the prompt, and is there for the next session', async () => {
    acts = [
      (box) => box.type('Do this').enter(),
      (box) => box.type('Do this now').escape(),
      (box) => {
        expect(box.value).toBe('Do this now');
        box.enter();
      },
      (box) => {
        expect(box.value).toBe('');
        box.escape();
      },
    ];
    await newSession(parts);
    expect([started, editors]).toEqual([[], []]);
    reviews = ['Start'];
    await newSession(parts);
    expect(started).toMatchObject([{ prompt: 'Do this now' }]);
    await newSession(parts);
  });

  it('is in an editor when the session could not be started', async () => {
    failure = new Error('The disk is full.');
    acts = [(box) => box.type('Do this').enter()];
    reviews = ['Start'];
    await expect(newSession(parts)).rejects.toThrow('The disk is full.');
    expect(editors).toMatchObject([{ text: 'Do this' }]);
  });

  it('keeps what was chosen for it when the session could not be started', async () => {
    failure = new Error('The disk is full.');
    acts = [(box) => box.type('Do this').enter()];
    reviews = ['Permission mode', 'Start'];
    await expect(newSession(parts)).rejects.toThrow('The disk is full.');
    const uri = { toString: () => editors[0]?.uri };
    window.activeTextEditor = { document: { uri, getText: () => 'Do this', isUntitled: false } };
    reviews = ['Start'];
    await expect(newSessionFromEditor(parts)).rejects.toThrow('The disk is full.');
    failure = undefined;
    reviews = ['Start'];
    await newSessionFromEditor(parts);
    expect(started).toMatchObject([{ prompt: 'Do this', mode: 'plan' }]);
  });
});
