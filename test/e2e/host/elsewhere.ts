import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { eventually, hostTest } from './cases.ts';
import { fairlead } from './fairlead.ts';

export function elsewhereTests(): void {
  const socket = join(process.env.FAIRLEAD_HOME ?? '', 'run');

  hostTest(
    'in a window without a repository no sidecar is started before somebody asks for one',
    async () => {
      await fairlead().activate();
      const { activationEvents }: { activationEvents: string[] } = fairlead().packageJSON;
      assert.deepEqual(activationEvents.toSorted(), [
        'onFileSystem:fairlead',
        'onFileSystem:fairlead-text',
        'onStartupFinished',
        'onView:fairlead.fleet',
      ]);
      // Whatever an activation begins, it has begun by now.
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      assert.equal(existsSync(socket), false);
    },
  );

  hostTest('the view asks for it', async () => {
    await vscode.commands.executeCommand('fairlead.showFleet');
    await eventually('the sidecar runs', () => existsSync(socket));
  });
}
