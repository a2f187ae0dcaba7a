import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { World } from '../../support/world.ts';

it('leaves nothing when Ctrl-C ends it while the remote is asked', { timeout: 120_000 }, async () => {
  await using world = await World.open();
  const { repository, fairlead } = world;
  repository.git('remote', 'add', 'origin', 'ssh://nobody@localhost/nowhere');
  repository.git('config', 'branch.main.remote', 'origin');
  repository.git('config', 'branch.main.merge', 'refs/heads/main');
  const asked = join(repository.root, 'asked');
  const child = spawn(process.execPath, [fairlead.program, 'new', 'Work'], {
    cwd: repository.folder,
    env: { ...fairlead.environment, GIT_SSH_COMMAND: `touch '${asked}'; exec sleep 1000; :` },
    stdio: 'ignore',
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  await expect.poll(() => existsSync(asked), { timeout: 30_000 }).toBe(true);
  child.kill('SIGINT');
  expect(await ended).toBe(130);
  expect(await fairlead.json(['ls', '--all'])).toEqual([]);
  expect(repository.git('branch', '--list', 'fairlead/*')).toBe('');
  expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1);
});
