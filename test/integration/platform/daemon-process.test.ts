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
  // Stopped, it accepts nothing.
  daemon.kill('SIGSTOP');
  const connection = tryConnect(path);
  // Dead, and its end of the socket closed, before this thread looks at what became of the connection.
  daemon.kill('SIGKILL');
  execFileSync('/bin/sh', [
    '-c',
    `while grep -q '^State:[[:space:]]*[A-Y]' /proc/${daemon.pid}/status; do :; done`,
  ]);
  expect(await connection).toBeUndefined();
});
