import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tryConnect } from '../../../sidecar/platform/daemon-process.ts';
import { ScratchFolder } from '../../../sidecar/platform/scratch-folder.ts';

it('a daemon that dies with a connection in its queue is one that is gone', async () => {
  using folder = new ScratchFolder();
  const path = join(folder.path, 'daemon.sock');
  const program = `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log('listening'))`;
  const daemon = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(daemon.stdout, 'data');
  // Stopped, all its threads, it accepts nothing.
  daemon.kill('SIGSTOP');
  block(`while grep -q '^State:[[:space:]]*[A-SU-Z]' /proc/${daemon.pid}/task/*/status; do :; done`);
  const connection = tryConnect(path);
  // Dead to its last thread, and so its end of the socket closed, before this thread looks at what became of the connection.
  daemon.kill('SIGKILL');
  const threads = `/proc/${daemon.pid}/task`;
  block(
    `while grep -q '^State:[[:space:]]*[A-Y]' ${threads}/*/status || [ $(ls ${threads} | wc -l) -gt 1 ]; do :; done`,
  );
  expect(await connection).toBeUndefined();
});

/** Runs a shell command while nothing else happens here. */
function block(command: string): void {
  execFileSync('/bin/sh', ['-c', command], { timeout: 20_000, stdio: ['ignore', 'inherit', 'ignore'] });
}
