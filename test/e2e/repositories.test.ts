import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Session } from '../../sidecar/protocol/session.ts';
import { prompt } from '../support/model/story.ts';
import { windowTest } from './support/window-test.ts';

const it = windowTest();

describe('a window with several repositories', () => {
  it('starts a session in that of the active editor, else asks which', async ({ app }) => {
    const { world } = app;
    const { repository } = world;
    const root = join(repository.root, 'pier');
    mkdirSync(root);
    const pier = repository.at(root);
    pier.git('init', '--quiet', '--initial-branch=main');
    pier.commit({ 'pier.md': 'Pier\n' }, 'Start');
    const workspace = join(repository.root, 'both.code-workspace');
    writeFileSync(workspace, JSON.stringify({ folders: [{ path: repository.folder }, { path: root }] }));
    world.model.when(prompt(/^Work/)).says('Worked.');
    await using window = await app.window(workspace);
    await window.fleet.open();
    await window.fleet.welcome.getByText('No session yet').waitFor();

    await window.command('Fairlead: New Session');
    await window.question.getByPlaceholder('The repository of the new session').waitFor();
    await app.picture(window, 'which-repository');
    await window.pick('pier');
    await window.answer('Work on the pier');
    await window.pick('Start');
    await window.fleet.row('Work on the pier').waitFor();

    await window.openFile('app.js');
    await window.command('Fairlead: New Session');
    await window.question.getByText('New Session').waitFor();
    await window.answer('Work on the answer');
    await window.pick('Start');
    await window.fleet.row('Work on the answer').waitFor();

    await expect
      .poll(async () =>
        Object.fromEntries((await world.json<Session[]>('ls')).map(({ title, repo }) => [title, repo])),
      )
      .toEqual({ 'Work on the pier': root, 'Work on the answer': repository.folder });
    // Both are this window's: neither is folded away.
    await expect.poll(() => window.fleet.row('Work on').count()).toBe(2);
  });
});
