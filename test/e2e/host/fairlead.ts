import * as vscode from 'vscode';

/** The extension that is tested, as it is installed. */
export function fairlead(): vscode.Extension<unknown> {
  const found = vscode.extensions.getExtension('fairlead.fairlead');
  if (found === undefined) throw new Error('Fairlead is not installed.');
  return found;
}
