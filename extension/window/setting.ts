import * as vscode from 'vscode';

interface Settings {
  nodePath: string;
  notifications: boolean;
  openTerminalOnStart: boolean;
  terminalLocation: 'panel' | 'editor';
}

/** As `package.json` declares them. */
export const DEFAULTS: Settings = {
  nodePath: '',
  notifications: true,
  openTerminalOnStart: true,
  terminalLocation: 'panel',
};

/**
 * A setting as it is now, without space around a text. A file of settings holds what was written into it: a value of
 * another type counts as none.
 */
export function setting<Name extends keyof Settings>(name: Name): Settings[Name] {
  const value = vscode.workspace.getConfiguration('fairlead').get<unknown>(name);
  const trimmed = typeof value === 'string' ? value.trim() : value;
  return isLike(trimmed, DEFAULTS[name]) ? trimmed : DEFAULTS[name];
}

function isLike<T>(value: unknown, sample: T): value is T {
  return typeof value === typeof sample;
}
