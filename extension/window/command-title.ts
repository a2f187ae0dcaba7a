import type * as vscode from 'vscode';

/** A title as VS Code has read it: with its translation beside it where there is one. */
type Title = string | { value: string };

/** What the palette calls a command of the extension, without the dots that say that something is asked. */
export function titleOf({ extension }: Pick<vscode.ExtensionContext, 'extension'>, id: string): string {
  // The manifest is our own, and tested. A schema would be loaded with every window, for one title.
  const { commands }: { commands: readonly { command: string; title: Title }[] } =
    extension.packageJSON.contributes;
  const title = commands.find(({ command }) => command === id)?.title ?? id;
  return (typeof title === 'string' ? title : title.value).replace(/…$/, '');
}
