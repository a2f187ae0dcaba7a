import { delimiter, join } from 'node:path';
import * as vscode from 'vscode';
import { setting } from '../window/setting.ts';

type Part = Pick<vscode.ExtensionContext, 'environmentVariableCollection' | 'extensionPath'>;

/**
 * Puts the command `fairlead` on the PATH of the window's terminals, and keeps its Node in step with the setting. A shell
 * whose start-up files set PATH anew has it all the same where VS Code's shell integration is on.
 */
export function putCommandOnPath({ environmentVariableCollection, extensionPath }: Part): vscode.Disposable {
  const variables = environmentVariableCollection;
  const bin = join(extensionPath, 'dist', 'bin') + delimiter;
  const how = { applyAtProcessCreation: true, applyAtShellIntegration: true };
  const put = () => {
    variables.description = 'Puts the `fairlead` command on the PATH.';
    variables.prepend('PATH', bin, how);
    variables.replace('FAIRLEAD_EDITOR_NODE', process.execPath, how);
    const node = setting('nodePath');
    if (node === '') variables.delete('FAIRLEAD_NODE_PATH');
    else variables.replace('FAIRLEAD_NODE_PATH', node, how);
  };
  put();
  return vscode.workspace.onDidChangeConfiguration((change) => {
    if (change.affectsConfiguration('fairlead.nodePath')) put();
  });
}
