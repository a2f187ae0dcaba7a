import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import type { SidecarStatus } from '../../../sidecar/protocol/protocol.ts';
import { eventually, hostTest } from './cases.ts';
import { fairlead } from './fairlead.ts';
import type { Scene } from './scene.ts';

interface Main {
  deactivate(): Promise<void>;
}

export function goodbyeTests({ program }: Scene): void {
  const status = async (): Promise<SidecarStatus> => {
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'status', '--json']);
    return JSON.parse(stdout) as SidecarStatus;
  };

  hostTest(
    'deactivated, it leaves the sidecar with its agents and takes only its connection away',
    async () => {
      const before = await status();
      // The very module that runs: the host has loaded it from this file.
      const path = vscode.Uri.joinPath(fairlead().extensionUri, 'dist/extension.js').fsPath;
      const main = createRequire(path)(path) as Main;
      await main.deactivate();
      const after = await eventually('the connection is gone', async () => {
        const now = await status();
        return now.sidecar.clients === before.sidecar.clients - 1 && now;
      });
      assert.equal(after.sidecar.pid, before.sidecar.pid);
      assert.deepEqual(after.terminals, before.terminals);
      // It does not come back by itself.
      await vscode.commands.executeCommand('fairlead.refresh');
      assert.equal((await status()).sidecar.clients, before.sidecar.clients - 1);
    },
  );
}
