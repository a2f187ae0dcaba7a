import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HARBOUR } from '../../test/support/harbour-library.ts';

const FILES: Record<string, string> = {
  ...HARBOUR,
  'package.json': `${JSON.stringify({ name: 'harbour', version: '1.0.0', type: 'module' }, null, 2)}\n`,
};

/** Makes the demo repository: one commit on `main`, by a person of its own. */
export function makeDemoRepository(folder: string): void {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'Demo Person');
  git('config', 'user.email', 'demo@example.com');
  git('config', 'commit.gpgSign', 'false');
  git('add', '--all');
  git('commit', '--quiet', '--message=Count the boats');
}
