import type * as vscode from 'vscode';
import * as z from '../../sidecar/protocol/zod.ts';

/** As VS Code has read it: with the texts of the person's language in their places. */
const Manifest = z.object({
  contributes: z.object({
    commands: z.array(
      z.object({ command: z.string(), title: z.union([z.string(), z.object({ value: z.string() })]) }),
    ),
  }),
});

/** What the palette calls a command of the extension, without the dots that say that something is asked. */
export function titleOf({ extension }: Pick<vscode.ExtensionContext, 'extension'>, id: string): string {
  const { commands } = Manifest.parse(extension.packageJSON).contributes;
  const title = commands.find(({ command }) => command === id)?.title ?? id;
  return (typeof title === 'string' ? title : title.value).replace(/…$/, '');
}
