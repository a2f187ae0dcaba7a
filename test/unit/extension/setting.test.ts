import { expect, it } from 'vitest';
import { setting } from '../../../extension/window/setting.ts';
import { workspace } from '../../support/vscode.ts';

it('is what the person has set, and the default where that is of another type', () => {
  let value: unknown;
  workspace.getConfiguration = () => ({ get: () => value });
  const read = (what: unknown) => {
    value = what;
    return [setting('nodePath'), setting('notifications')];
  };
  expect(read(' /opt/node ')).toEqual(['/opt/node', true]);
  expect(read(false)).toEqual(['', false]);
  for (const other of [undefined, null, 7, {}, []]) expect(read(other)).toEqual(['', true]);
});
