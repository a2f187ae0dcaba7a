import { join } from 'node:path';
import * as vscode from 'vscode';
import type { Connection } from '../connection/connection.ts';

/** Opens the log of the sidecar, which serves every window. @throws ExtensionError when it cannot be started */
export async function showSidecarLog({
  connection,
}: {
  connection: Pick<Connection, 'request'>;
}): Promise<void> {
  const { home } = await connection.request('Status', {});
  const document = await vscode.workspace.openTextDocument(join(home, 'logs', 'sidecar.log'));
  const editor = await vscode.window.showTextDocument(document);
  const last = document.lineAt(document.lineCount - 1).range;
  editor.revealRange(last);
}
