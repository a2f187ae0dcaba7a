import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { SidecarStatus } from '../../sidecar/protocol/protocol.ts';
import type { Session, Turn } from '../../sidecar/protocol/session.ts';
import { prompt } from '../support/model/story.ts';
import type { Application } from './support/application.ts';
import { windowTest } from './support/window-test.ts';

const it = windowTest();

describe('New Session', () => {
  it('starts from another base, in another mode, several times, with what is not committed', async ({
    app,
    window,
  }) => {
    const { world } = app;
    const { repository } = world;
    repository.git('branch', 'release');
    repository.write({ 'draft.md': 'A draft.\n' });
    world.model.when(prompt('Finish the draft')).says('Finished.');
    await window.fleet.open();
    await window.command('Fairlead: New Session');
    await window.answer('Finish the draft');
    await window.pick('Base');
    await window.pick('release');
    await window.pick(/Permission mode/);
    await window.pick('acceptEdits');
    await window.pick('Attempts');
    await window.pick('2');
    await window.pick(/Uncommitted changes.*stay behind/);
    await window.question.getByText('copied into the worktree').waitFor();

    // Back leads to the prompt as it was typed, and what was chosen stays chosen.
    await window.question.getByRole('button', { name: /^Back/ }).click();
    await window.question.getByText('New Session (1/2)').waitFor();
    await expect.poll(() => window.question.locator('input.input').inputValue()).toBe('Finish the draft');
    await window.page.keyboard.press('Escape');
    await window.question.waitFor({ state: 'hidden' });
    await window.command('Fairlead: New Session');
    await expect.poll(() => window.question.locator('input.input').inputValue()).toBe('Finish the draft');
    await window.page.keyboard.press('Enter');
    await window.question.getByText('Start', { exact: true }).waitFor();
    for (const chosen of [
      /Base.*release/,
      /Permission mode.*acceptEdits/,
      /Attempts.*2 side by side/,
      /Uncommitted changes.*copied into the worktree/,
    ]) {
      await window.question.locator('.monaco-list-row', { hasText: chosen }).waitFor();
    }
    await window.pick('Start');
    await expect.poll(() => window.fleet.row('Finish the draft').count()).toBe(2);
    const made = (await world.json<Session[]>('ls')).filter(({ title }) => title === 'Finish the draft');
    expect(made.map(({ base, mode, family }) => [base, mode, family])).toEqual([
      ['release', 'acceptEdits', made[0]?.family],
      ['release', 'acceptEdits', made[0]?.family],
    ]);
    for (const { worktree } of made) expect(repository.at(worktree).read('draft.md')).toBe('A draft.\n');
    await Promise.all(made.map(({ id }) => world.finished(id)));
    repository.write({ 'draft.md': null });
  });

  it('takes a long prompt from an editor', async ({ app, window }) => {
    const { world } = app;
    world.model.when(prompt('And a second line')).says('Read in full.');
    await window.command('Fairlead: New Session');
    await window.question.locator('input.input').pressSequentially('A first line');
    // The palette takes the place of the box, which is there again with what was typed.
    await window.command('Fairlead: New Session');
    await expect.poll(() => window.question.locator('input.input').inputValue()).toBe('A first line');
    await window.question.getByRole('button', { name: /Go on in an editor/ }).click();
    await window.tab('Prompt.md').waitFor();
    await window.page.locator('.editor-instance', { hasText: 'A first line' }).waitFor();
    await window.page.keyboard.press('Control+End');
    await window.page.keyboard.type('\nAnd a second line');
    // What was written for an hour is there again.
    await expect.poll(() => app.server.hasBackup('And a second line')).toBe(true);
    await window.reloadWindow();
    await window.tab('Prompt.md').waitFor();
    await window.page.locator('.editor-instance', { hasText: 'And a second line' }).waitFor();
    await window.page.getByRole('button', { name: 'Start Session with This Prompt' }).click();
    await window.pick('Start');
    await window.fleet.open();
    await window.fleet.row('A first line').waitFor();
    await expect.poll(() => window.tab('Prompt.md').count()).toBe(0);
    const session = await named(app, 'A first line');
    await world.finished(session.id);
    const [turn] = await world.json<Turn[]>('log', session.id);
    expect(turn?.prompt).toBe('A first line\nAnd a second line');
  });
});

describe('Land', () => {
  it('asks where to once, pushes to the remote, and shows a conflict with its paths', async ({
    app,
    window,
  }) => {
    const { world } = app;
    const remote = world.repository.withRemote();
    writeFileSync(join(world.fairlead.home, 'config.toml'), '[land]\nhandBack = false\n');
    const first = await writes(app, 'Say forty-two', 'src/app.js', 'export const answer = 42;\n');
    const second = await writes(app, 'Say forty-three', 'src/app.js', 'export const answer = 43;\n');
    await window.fleet.open();
    await window.fleet.act(window.fleet.row('Say forty-two'), 'Land');
    await window.question.getByText('Where does main land?').waitFor();
    await window.pick('Push to origin/main');
    await window.press(window.dialog, 'Commit and Land');
    await window.notification(/Landed on origin\/main as \w+: "Say forty-two"/).waitFor();
    expect(remote.show('main', 'src/app.js')).toBe('export const answer = 42;\n');
    await expect.poll(() => window.fleet.row('Say forty-two').getAttribute('aria-label')).toMatch(/landed/);

    const told = await window.toldNotifications();
    await window.fleet.act(window.fleet.row('Say forty-three'), 'Land');
    await window.press(window.dialog, 'Commit and Land');
    const failed = window.notification('Did not land: "Say forty-three"');
    await failed.waitFor();
    expect(await failed.textContent()).toContain('src/app.js');
    expect(await failed.locator('a.monaco-button').allInnerTexts()).toEqual([
      'Open Terminal',
      'Open Changes',
    ]);
    await expect
      .poll(() => window.fleet.row('Say forty-three').getAttribute('aria-label'))
      .toMatch(/needs you|finished/);
    await window.press(failed, 'Open Changes');
    await window.page.locator('.multiDiffEntry', { hasText: 'app.js' }).waitFor();
    // The need that came of it was told by the landing.
    const ofIt = (await told()).filter((text) => /^(?!Landing ).*Say forty-three/.test(text));
    expect(ofIt).toEqual([expect.stringContaining('Did not land')]);
    expect(remote.show('main', 'src/app.js')).toBe('export const answer = 42;\n');
    expect(first.base).toBe(second.base);
  });

  it('asks before commits that only the local base has go along', async ({ app, window }) => {
    const { world } = app;
    const { repository } = world;
    const remote = repository.at(repository.git('remote', 'get-url', 'origin'));
    repository.git('pull', '--quiet', '--rebase');
    repository.commit({ 'mine.md': 'Mine.\n' }, 'A commit of my own');
    await writes(app, 'Say more', 'more.txt', 'More.\n');
    await window.fleet.open();
    await window.fleet.act(window.fleet.row('Say more'), 'Land');
    await window.press(window.dialog, 'Commit and Land');
    await window.dialog.getByText('1 commit that origin lacks. They would land along.').waitFor();
    await window.press(window.dialog, 'Land Them Too');
    await window.notification(/Landed on origin\/main as \w+: "Say more"/).waitFor();
    expect([remote.show('main', 'more.txt'), remote.show('main', 'mine.md')]).toEqual(['More.\n', 'Mine.\n']);

    // The answer of the first time is asked for again by Land To… alone.
    await writes(app, 'Say it here', 'here.txt', 'Here.\n');
    await window.fleet.choose(window.fleet.row('Say it here'), 'Land To…');
    await window.question.getByText('Where does main land?').waitFor();
    await window.question
      .locator('.monaco-list-row', { hasText: /Push to origin\/main.*as it is now/ })
      .waitFor();
    await app.picture(window, 'land to');
    await window.pick('Only in this clone');
    await window.press(window.dialog, 'Commit and Land');
    await window.notification('main lands in this clone only from now on').waitFor();
    await window.notification(/Landed on main as \w+: "Say it here"/).waitFor();
    expect([repository.show('main', 'here.txt'), remote.show('main', 'here.txt')]).toEqual([
      'Here.\n',
      undefined,
    ]);
  });
});

describe('Answer', () => {
  it('shows the edit as a diff, and takes no with a reason', async ({ app, window }) => {
    const { world } = app;
    world.model
      .when(prompt('Rewrite the answer'))
      .callsTool('Write', ({ cwd }) => ({
        file_path: `${cwd}/src/app.js`,
        content: 'export const answer = 0;\n',
      }))
      .thenSays('I leave it as it is.');
    const { id } = await world.start('Rewrite the answer', '--mode', 'manual');
    await window.fleet.open();
    const row = window.fleet.row('Rewrite the answer');
    await expect.poll(() => row.getAttribute('aria-label')).toMatch(/needs you/);
    await window.fleet.choose(row, 'Answer');
    await window.page
      .locator('.monaco-diff-editor .modified-in-monaco-diff-editor', { hasText: 'answer = 0' })
      .waitFor();
    await window.pick('Deny, and say why');
    await window.answer('Zero is no answer');
    await world.finished(id);
    const denial = world.model.requests.findLast(({ body }) =>
      JSON.stringify(body).includes('Zero is no answer'),
    );
    expect(denial).toBeDefined();
    const { worktree } = await named(app, 'Rewrite the answer');
    expect(world.repository.at(worktree).read('src/app.js')).not.toContain('answer = 0');
  });
});

describe('commands of a session', () => {
  it('prompt, interrupt, rename, stop and archive it', async ({ app, window }) => {
    const { world } = app;
    world.model
      .when(prompt('Take notes'))
      .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/notes.txt`, content: 'Noted.\n' }))
      .thenSays('Noted.');
    world.model.when(prompt('Think for long')).says('Let me see.').hangs();
    const { id, worktree } = await world.start('Take notes', '--mode', 'acceptEdits');
    await world.finished(id);
    await window.fleet.open();
    const row = window.fleet.row('Take notes');
    await window.fleet.choose(row, 'Send Prompt');
    await window.question.locator('input.input').fill('Think');
    await window.question.getByRole('button', { name: /Go on in an editor/ }).click();
    await window.page.locator('.editor-instance', { hasText: 'Think' }).waitFor();
    await window.page.keyboard.press('Control+End');
    await window.page.keyboard.type(' for long');
    await window.page.getByRole('button', { name: 'Send This to the Agent' }).click();
    await expect.poll(() => window.tab(`Prompt for ${id}.md`).count()).toBe(0);
    await expect.poll(() => row.getAttribute('aria-label')).toMatch(/Take notes, working/);
    await window.fleet.choose(row, 'Interrupt');
    await expect.poll(() => row.getAttribute('aria-label')).toMatch(/finished \(interrupted\)/);

    await window.fleet.choose(row, 'Show Conversation');
    await window.tab(/Take notes\.md/).waitFor();
    const said = window.page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
    await said.getByText('Think for long').first().waitFor();
    await said.getByText('Noted.').first().waitFor();

    await window.fleet.choose(row, 'Rename');
    await window.answer('Taken notes $(alert)');
    const renamed = window.fleet.row('Taken notes $(alert)');
    await renamed.waitFor();
    // Whoever named it, it is text.
    await renamed.hover();
    await window.page.locator('.workbench-hover', { hasText: 'Taken notes $(alert)' }).waitFor();

    await window.fleet.choose(renamed, 'Stop');
    await renamed.getByText('agent sleeps').waitFor();
    await window.fleet.choose(renamed, 'Resume');
    await world.fairlead.until(id, ({ facts }) => facts.life === 'active');
    await expect.poll(() => renamed.textContent()).not.toContain('agent sleeps');
    await window.fleet.choose(renamed, 'Stop');
    await world.fairlead.until(id, ({ facts }) => facts.life === 'sleeping');

    await window.fleet.choose(renamed, 'Archive');
    const refused = window.notification('has unsaved work');
    await refused.waitFor();
    expect(await refused.textContent()).toContain('notes.txt');
    expect(await refused.textContent()).toContain(`Land it: fairlead land ${id} --yes`);
    expect(existsSync(join(worktree, 'notes.txt'))).toBe(true);
    world.repository.at(worktree).commit({}, 'Notes');
    // The workbench writes the errors that it shows into its console.
    window.forgive(/has unsaved work/);
    await window.fleet.choose(renamed, 'Archive');
    await window.notification('Archived: "Taken notes $(alert)"').waitFor();
    await expect.poll(() => renamed.count()).toBe(0);
    expect(existsSync(worktree)).toBe(false);
  });

  it('take it out of the queue', async ({ app, window }) => {
    const { world } = app;
    const session = await writes(app, 'Wait in line', 'line.txt', 'In line.\n');
    await window.fleet.open();
    const row = window.fleet.row('Wait in line');
    await expect.poll(() => row.getAttribute('aria-label')).toMatch(/finished/);
    // The palette offers it while something is queued.
    const removes = async () =>
      (await window.offered('Fairlead: Re')).includes('Fairlead: Remove from Queue');
    expect(await removes()).toBe(false);
    await world.json('land', session.id, '--yes', '--check', 'sleep 1000', '--no-wait');
    await expect.poll(() => row.getAttribute('aria-label')).toMatch(/landing|queued/);
    expect(await removes()).toBe(true);
    await window.fleet.choose(row, 'Remove from Queue');
    await expect.poll(() => row.getAttribute('aria-label')).toMatch(/finished/);
    expect(await removes()).toBe(false);
    expect(world.repository.show('main', 'line.txt')).toBeUndefined();
  });
});

describe('commands of the window', () => {
  it('look after the sidecar, and restart it under its agents', async ({ app, window }) => {
    const { world } = app;
    world.model.when(prompt('Stay awake')).says('Awake.');
    const { id } = await world.start('Stay awake');
    await world.finished(id);
    await window.command('Fairlead: Doctor');
    await window.question.getByText('Fairlead Doctor').waitFor();
    await window.question
      .locator('.monaco-list-row', { hasText: /^.*git/ })
      .first()
      .waitFor();
    await window.page.keyboard.press('Escape');
    await window.command('Fairlead: Show Log');
    await window.page.locator('.panel').getByText('Connected to the sidecar').first().waitFor();
    const before = await world.json<SidecarStatus>('status');
    await window.command('Fairlead: Restart Sidecar');
    await window.page.locator('.statusbar-item', { hasText: 'The sidecar was restarted' }).waitFor();
    await expect
      .poll(async () => (await world.json<SidecarStatus>('up').catch(() => undefined)) !== undefined)
      .toBe(true);
    await expect
      .poll(async () => (await world.json<SidecarStatus>('status')).sidecar.pid)
      .not.toBe(before.sidecar.pid);
    await expect.poll(() => window.status.getAttribute('aria-label')).toMatch(/ sessions?\b/);
    expect((await world.json<SidecarStatus>('status')).terminals).toEqual(before.terminals);
  });
});

/** A session that has written one file and left it uncommitted. */
async function writes({ world }: Application, task: string, path: string, content: string): Promise<Session> {
  world.model
    .when(prompt(task))
    .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/${path}`, content }))
    .thenSays('Written.');
  const { id } = await world.start(task, '--mode', 'acceptEdits');
  return world.finished(id);
}

async function named({ world }: Application, title: string): Promise<Session> {
  const found = (await world.json<Session[]>('ls')).find((session) => session.title === title);
  if (found === undefined) throw new Error(`no session is called ${title}`);
  return found;
}
