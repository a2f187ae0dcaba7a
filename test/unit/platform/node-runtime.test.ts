import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findNode } from '../../../sidecar/platform/node-runtime.ts';
import { systemProcesses } from '../../../sidecar/platform/processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'fl-node-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function program(name: string, script: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

describe('the Node that runs the daemons', () => {
  it('is the one of the setting when that runs node:sqlite', async () => {
    const link = program('my-node', `exec ${process.execPath} "$@"`);
    const found = await findNode(systemProcesses, process.env, link);
    expect(found).toMatchObject({ file: link, from: 'setting', version: process.versions.node });
    expect(found.env).toEqual({ ELECTRON_RUN_AS_NODE: '1' });
  });

  it('is this program when the one of the setting is too old, missing, or no Node', async () => {
    const old = program('old-node', 'echo "Error: No such built-in module: node:sqlite" >&2; exit 1');
    const liar = program('liar', 'exit 0');
    for (const explicit of [old, liar, join(folder, 'missing'), '', undefined]) {
      const found = await findNode(systemProcesses, process.env, explicit);
      expect(found).toMatchObject({ file: process.execPath, from: 'this program' });
    }
  });
});
