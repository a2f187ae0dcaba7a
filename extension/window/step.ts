import * as vscode from 'vscode';

interface Options<Item> {
  title: string;
  placeholder: string;
  items: readonly Item[];
  /** Whether there is a step before. */
  hasBack: boolean;
  step?: { at: number; of: number } | undefined;
  /** Closes the list. */
  token?: vscode.CancellationToken | undefined;
}

/**
 * One step of several: a list to pick from. `back` is its button alone; `left` is any other end without a pick, such as
 * Escape or another list that was opened over it, and ends all steps.
 */
export function askStep<Item extends vscode.QuickPickItem>(
  options: Options<Item>,
): Promise<Item | 'back' | 'left'> {
  const pick = vscode.window.createQuickPick<Item>();
  pick.title = options.title;
  pick.placeholder = options.placeholder;
  pick.items = options.items;
  pick.step = options.step?.at;
  pick.totalSteps = options.step?.of;
  pick.buttons = options.hasBack ? [vscode.QuickInputButtons.Back] : [];
  pick.ignoreFocusOut = true;
  return new Promise((resolve) => {
    const end = (value: Item | 'back' | 'left') => {
      resolve(value);
      cancelled?.dispose();
      pick.dispose();
    };
    const cancelled = options.token?.onCancellationRequested(() => end('left'));
    pick.onDidAccept(() => {
      const [picked] = pick.selectedItems;
      if (picked !== undefined) end(picked);
    });
    pick.onDidTriggerButton(() => end('back'));
    pick.onDidHide(() => end('left'));
    pick.show();
  });
}
