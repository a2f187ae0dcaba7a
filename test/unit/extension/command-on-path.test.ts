import { expect, it } from 'vitest';
import { putCommandOnPath } from '../../../extension/terminals/command-on-path.ts';
import { workspace } from '../../support/vscode.ts';

it('gives terminals the command, and the Node of the setting as it is now', () => {
  const variables = new Map<string, string>();
  let nodePath = '';
  let change: (event: { affectsConfiguration(name: string): boolean }) => void = () => {};
  workspace.getConfiguration = () => ({ get: () => nodePath });
  workspace.onDidChangeConfiguration = (listener: typeof change) => {
    change = listener;
  };
  putCommandOnPath({
    extensionPath: '/extension',
    environmentVariableCollection: {
      prepend: (name: string, value: string) => variables.set(name, value),
      replace: (name: string, value: string) => variables.set(name, value),
      delete: (name: string) => variables.delete(name),
    } as never,
  });
  expect([...variables]).toEqual([
    ['PATH', '/extension/dist/bin:'],
    ['FAIRLEAD_EDITOR_NODE', process.execPath],
  ]);
  const changeSetting = (to: string, name = 'fairlead.nodePath') => {
    nodePath = to;
    change({ affectsConfiguration: (each) => each === name });
    return variables.get('FAIRLEAD_NODE_PATH');
  };
  expect(changeSetting('/opt/node', 'editor.fontSize')).toBeUndefined();
  expect(changeSetting('/opt/node')).toBe('/opt/node');
  expect(changeSetting('')).toBeUndefined();
});
