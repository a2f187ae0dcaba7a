import { existsSync } from 'node:fs';
import * as vscode from 'vscode';
import type { Connection } from '../connection/connection.ts';
import { withProgress } from '../connection/progress.ts';
import { showInformation } from '../window/messages.ts';

/**
 * Opens the log of the sidecar, which serves every window, whether or not that runs: it says why it could not start.
 * @throws ExtensionError when nothing tells where the log is
 */
export async function showSidecarLog({
  connection,
}: {
  connection: Pick<Connection, 'logFile'>;
}): Promise<void> {
  const file = await withProgress(
    'Looking for the log of the sidecar',
    () => connection.logFile(),
    'ends-waiting',
  );
  if (!existsSync(file)) {
    void showInformation(`There is no log yet (${file}): the sidecar has never run here.`);
    return;
  }
  const document = await vscode.workspace.openTextDocument(file);
  const editor = await vscode.window.showTextDocument(document);
  const last = document.lineAt(document.lineCount - 1).range;
  editor.revealRange(last);
}
