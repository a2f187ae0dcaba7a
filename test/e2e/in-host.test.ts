import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { prompt } from '../support/model/story.ts';
import type { TestRepository } from '../support/repository.ts';
import type { HostResult } from './host/cases.ts';
import type { Scene } from './host/scene.ts';
import { closeBrowser } from './support/browser.ts';
import { HostApplication } from './support/in-host.ts';

afterAll(closeBrowser);

const BYTES = Buffer.from(Array.from({ length: 4_096 }, (_, at) => (at * 31) % 256));
/** Enough that a message of the connection cannot carry it in one piece of a pipe. */
const LARGE = `${'A line of text.\n'.repeat(100_000)}`;
const LINES = Array.from({ length: 20 }, (_, at) => `line ${at}\n`).join('');

describe('inside the extension host', () => {
  it('the extension keeps what its manifest and its commands promise', async () => {
    await using host = await HostApplication.open();
    const { world } = host.app;
    const { repository } = world;

    const plain = join(repository.root, 'plain');
    repository.at(repository.root).write({ 'plain/notes.txt': 'No repository.\n' });
    report(await host.run(plain, { suite: 'elsewhere', ...NOTHING }));

    repository.commit({
      'text.txt': 'one\ntwo\n',
      'kept.txt': 'kept\n',
      'old name.txt': LINES,
      'gone.txt': 'gone\n',
      'empty.txt': '',
      'picture.bin': BYTES,
      'large.txt': LARGE,
      'folder/inside.txt': 'inside\n',
    });
    const start = repository.tip();
    world.model.when(prompt('Change many files')).says('They are changed.');
    const { id, title, worktree } = await world.start('Change many files');
    await world.finished(id);
    const place = repository.at(worktree);
    place.git('mv', 'old name.txt', 'new name.txt');
    place.commit({ 'committed.txt': 'committed\n' }, 'Rename');
    place.write({
      'text.txt': 'one\ntwo, and more\n',
      'gone.txt': null,
      'picture.bin': Buffer.from(BYTES).reverse(),
      'folder/näher.txt': 'Näher, mein Wort.\n',
      'new.bin': BYTES,
    });
    symlinkSync('/etc', join(worktree, 'outside'));
    const paths = [
      ...['text.txt', 'kept.txt', 'old name.txt', 'new name.txt', 'gone.txt', 'empty.txt', 'picture.bin'],
      ...['large.txt', 'folder/inside.txt', 'folder/näher.txt', 'new.bin', 'committed.txt'],
    ];
    const scene: Omit<Scene, 'results' | 'logs' | 'program'> = {
      suite: 'repository',
      session: { id, title, worktree, start },
      work: Object.fromEntries(paths.map((path) => [path, onDisk(place, path)])),
      started: Object.fromEntries(paths.map((path) => [path, atCommit(repository, start, path)])),
    };
    report(await host.run(repository.folder, scene));
  });
});

const NOTHING = { session: { id: '', title: '', worktree: '', start: '' }, work: {}, started: {} };

function onDisk({ folder }: TestRepository, path: string): string | null {
  try {
    return readFileSync(join(folder, path)).toString('base64');
  } catch {
    return null;
  }
}

function atCommit(repository: TestRepository, commit: string, path: string): string | null {
  const blob = spawnSync('git', ['cat-file', 'blob', `${commit}:${path}`], {
    cwd: repository.folder,
    env: repository.environment,
    maxBuffer: 1e8,
  });
  return blob.status === 0 ? blob.stdout.toString('base64') : null;
}

/** Each test that failed with what it says. */
function report(results: readonly HostResult[]): void {
  expect(results.length).toBeGreaterThan(1);
  for (const { name, error } of results) {
    console.log(`${error === null ? '✓' : '✗'} ${name}`);
    expect.soft(error, name).toBeNull();
  }
}
