import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { hostTest } from './cases.ts';
import { fairlead } from './fairlead.ts';

export function settingsTests(): void {
  hostTest('settings have the defaults that their descriptions promise', async () => {
    const defaults: Record<string, unknown> = {
      nodePath: '',
      notifications: true,
      openTerminalOnStart: true,
      terminalLocation: 'panel',
    };
    const declared = Object.keys(fairlead().packageJSON.contributes.configuration.properties);
    assert.deepEqual(
      declared.sort(),
      Object.keys(defaults)
        .map((name) => `fairlead.${name}`)
        .sort(),
    );
    for (const [name, value] of Object.entries(defaults)) {
      assert.deepEqual(
        vscode.workspace.getConfiguration('fairlead').inspect(name)?.defaultValue,
        value,
        name,
      );
    }
  });
}
