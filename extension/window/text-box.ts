import * as vscode from 'vscode';
import { asText } from './messages.ts';

export interface Words {
  title: string;
  /** What the box says while it is empty. */
  placeholder?: string;
  /** What stands below it. */
  prompt?: string;
  /** What is said when nothing was written. */
  missing: string;
  step?: { at: number; of: number };
}

export interface TextBoxOptions {
  /** What stands there first. */
  text: string;
  /** Called with each change: a box can vanish at any time, and what was typed in it is not lost. */
  onDidType?(text: string): void;
  /** Whether a pencil offers to go on in an editor. */
  hasEditor?: boolean;
  /** Whether there is a step before. */
  hasBack?: boolean;
  /** Closes the box. */
  token?: vscode.CancellationToken | undefined;
}

/** How a box was ended: accepted; with one of its buttons; or in any other way, as by Escape or another question. */
export type TextEnd =
  | { kind: 'accepted'; text: string }
  | { kind: 'editor' }
  | { kind: 'back' }
  | { kind: 'left' };

/** Asks for a line of text, which is there while the focus is elsewhere. What is accepted is trimmed, and not empty. */
export function askInTextBox(words: Words, options: TextBoxOptions): Promise<TextEnd> {
  const pencil = { iconPath: new vscode.ThemeIcon('edit'), tooltip: 'Go on in an editor' };
  const box = vscode.window.createInputBox();
  box.title = words.title;
  box.placeholder = words.placeholder;
  box.prompt = words.prompt === undefined ? undefined : asText(words.prompt);
  box.step = words.step?.at;
  box.totalSteps = words.step?.of;
  box.value = options.text;
  box.buttons = [
    ...(options.hasBack === true ? [vscode.QuickInputButtons.Back] : []),
    ...(options.hasEditor === true ? [pencil] : []),
  ];
  box.ignoreFocusOut = true;
  return new Promise((resolve) => {
    const end = (value: TextEnd) => {
      resolve(value);
      cancelled?.dispose();
      box.dispose();
    };
    const cancelled = options.token?.onCancellationRequested(() => end({ kind: 'left' }));
    box.onDidAccept(() => {
      const text = box.value.trim();
      if (text === '') box.validationMessage = words.missing;
      else end({ kind: 'accepted', text });
    });
    box.onDidChangeValue((text) => {
      box.validationMessage = undefined;
      options.onDidType?.(text);
    });
    box.onDidTriggerButton((button) => end({ kind: button === pencil ? 'editor' : 'back' }));
    box.onDidHide(() => end({ kind: 'left' }));
    box.show();
  });
}
