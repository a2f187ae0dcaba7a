import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import type { SidecarStatus } from '../../sidecar/protocol/protocol.ts';
import { prompt } from '../support/model/story.ts';
import { gone } from '../support/sidecar.ts';
import { windowTest } from './support/window-test.ts';

const folder = mkdtempSync(join(tmpdir(), 'fairlead-node-'));
afterAll(() => rmSync(folder, { recursive: true }));
/** The Node of the person's setting, and where it notes each of its runs. */
const node = join(folder, 'node');
const runs = join(folder, 'runs');
works();

const it = windowTest({ machineSettings: { 'fairlead.nodePath': node } });

describe('a window', () => {
  it('goes on when the sidecar is killed in the midst of a turn', async ({ app, window }) => {
    const { world } = app;
    const gate = Promise.withResolvers<void>();
    world.model
      .when(prompt('Think it over'))
      .says('A moment.')
      .callsTool('Read', ({ cwd }) => ({ file_path: `${cwd}/README.md` }))
      .andThen()
      .waitsFor(() => gate.promise)
      .says('Thought over.');
    const { id } = await world.start('Think it over');
    await window.fleet.open();
    await window.fleet.row('Think it over').click();
    await window.terminal.shows('A moment.');
    const before = await world.json<SidecarStatus>('status');
    await world.fairlead.killSidecar();
    // What the agent writes while nobody knows of it is in the terminal all the same.
    gate.resolve();
    await window.terminal.shows('Thought over.');
    await window.fleet.row(/Think it over/).waitFor();
    const ended = await world.finished(id);
    const after = await world.json<SidecarStatus>('status');
    expect(after.sidecar.pid).not.toBe(before.sidecar.pid);
    expect(after.terminals).toEqual(before.terminals);
    await expect
      .poll(() => window.fleet.row(/Think it over/).getAttribute('aria-label'))
      .toMatch(new RegExp(`, finished, .* ${ended.branch}$`));

    await window.command('Fairlead: Rename');
    await window.answer('Thought over');
    await window.fleet.row('Thought over').waitFor();
    await expect.poll(() => window.terminal.names()).toEqual(['Thought over']);
  });

  it('has everything again when its server was killed', async ({ app, window }) => {
    const { world, server } = app;
    world.model.when(prompt('Outlive the server')).says('I go on.');
    const { id } = await world.start('Outlive the server');
    await world.finished(id);
    await window.fleet.open();
    await window.fleet.row('Outlive the server').click();
    await window.terminal.shows('I go on.');
    const before = await world.json<SidecarStatus>('status');
    await server.kill();
    await server.serve();
    await window.reloadPage();
    // While its server is gone the workbench complains of everything.
    window.forgive(/./);
    await window.terminal.shows('I go on.');
    await window.fleet.row('Outlive the server').waitFor();
    const after = await world.json<SidecarStatus>('status');
    expect(after.sidecar.pid).toBe(before.sidecar.pid);
    expect(after.terminals).toEqual(before.terminals);
  });

  it('tells that terminals were lost with their host, and starts the agent again', async ({
    app,
    window,
  }) => {
    const { world } = app;
    world.model.when(prompt('Outlive the terminal')).says('First.');
    const { id } = await world.start('Outlive the terminal');
    await world.finished(id);
    await window.fleet.open();
    await window.fleet.row('Outlive the terminal').click();
    await window.terminal.shows('First.');
    const ptyhost = await world.fairlead.ptyhostPid();
    if (ptyhost === undefined) throw new Error('no ptyhost runs');
    process.kill(ptyhost, 'SIGKILL');
    await gone(ptyhost);
    const lost = await world.fairlead.until(id, ({ reason }) => reason?.kind === 'terminal-lost');
    await expect
      .poll(() => window.fleet.row('Outlive the terminal').getAttribute('aria-label'))
      .toContain('needs you: terminal lost');
    expect(lost.state).toBe('needs-you');

    await window.terminal.shows(/This terminal was lost[\s\S]*Press Enter/);
    await window.terminal.type('\n');
    await window.terminal.shows(/First\.[\s\S]*❯/);
    await expect.poll(async () => (await world.fairlead.show(id)).state).not.toBe('needs-you');
  });

  it('lets a sidecar that was ended be ended, and starts it when it is told to', async ({ app, window }) => {
    const { world } = app;
    await world.json('new', '--no-start', '--title', 'Rest a while');
    await window.fleet.open();
    await window.fleet.row('Rest a while').waitFor();
    await world.json('down');
    await window.page.getByText('The sidecar was ended. This is how the sessions were.').waitFor();
    await window.page.getByRole('button', { name: 'Connect Again' }).first().waitFor();
    await window.status.hover();
    const tooltip = window.page.locator('.workbench-hover', { hasText: 'Start' });
    await tooltip.waitFor();
    await app.picture(window, 'sidecar ended');
    expect((await world.json<{ sidecar: unknown }>('status')).sidecar).toBeNull();
    await tooltip.locator('a').first().click();
    await expect.poll(() => window.status.getAttribute('aria-label')).toMatch(/\d+ sessions?/);
    await window.page.getByText('This is how the sessions were').waitFor({ state: 'hidden' });
  });

  it('says that the sidecar cannot be started again, tries no more until it is told to, and comes back', async ({
    app,
    window,
    onTestFinished,
  }) => {
    const { world } = app;
    world.model.when(prompt('Outlive the Node')).says('I go on.');
    const { id } = await world.start('Outlive the Node');
    await world.finished(id);
    await window.fleet.open();
    await window.fleet.row('Outlive the Node').click();
    await window.terminal.shows('I go on.');
    const before = await world.json<SidecarStatus>('status');
    const pid = await world.fairlead.sidecarPid();
    onTestFinished(works);
    nodeThat('echo "no such instruction" >&2; exit 132');
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    await expect.poll(() => window.status.getAttribute('aria-label')).toContain('no such instruction');
    const tries = runCount();
    // Rows stay, and are not taken for news.
    await window.fleet.row('Outlive the Node').waitFor();
    await window.page.getByText('Not connected to the sidecar').waitFor();
    await window.status.hover();
    const tooltip = window.page.locator('.workbench-hover', { hasText: 'Try again' });
    await tooltip.waitFor();
    expect(await tooltip.textContent()).toContain('Set fairlead.nodePath');
    expect(await tooltip.locator('a').allInnerTexts()).toEqual([
      expect.stringContaining('Try again'),
      expect.stringContaining('Doctor'),
      expect.stringContaining('Log'),
      expect.stringContaining('Restart'),
    ]);
    await app.picture(window, 'status bar failed');
    await tooltip.locator('a', { hasText: 'Try again' }).click();
    await expect.poll(() => runCount()).toBe(tries + 1);
    // A command that needs the sidecar says why it does nothing.
    await window.page.mouse.move(700, 20);
    await window.command('Fairlead: Rename');
    await window.notification('no such instruction').first().waitFor();
    await expect.poll(() => runCount()).toBe(tries + 2);

    works();
    await window.page.locator('.pane-header, .composite.title').first().hover();
    await window.page.getByRole('button', { name: 'Connect Again' }).first().click();
    await expect.poll(() => window.status.getAttribute('aria-label')).toMatch(/\d+ sessions?/);
    await window.page.getByText('Not connected to the sidecar').waitFor({ state: 'hidden' });
    await window.command('Fairlead: Rename');
    await window.answer('Outlived the Node');
    await window.fleet.row('Outlived the Node').waitFor();
    expect((await world.json<SidecarStatus>('status')).terminals).toEqual(before.terminals);
    window.forgive(/no such instruction/);
  });

  it('joins the sidecar that somebody else starts once the home is there again', async ({ app, window }) => {
    const { world } = app;
    const { home } = world.fairlead;
    await window.fleet.open();
    await expect.poll(() => window.status.getAttribute('aria-label')).toMatch(/\d+ sessions?/);
    const pid = await world.fairlead.sidecarPid();
    renameSync(home, `${home}.away`);
    try {
      writeFileSync(home, 'in the way\n');
      await gone(pid);
      await expect.poll(() => window.status.getAttribute('aria-label')).toContain(home);
    } finally {
      rmSync(home);
      renameSync(`${home}.away`, home);
    }
    await world.json('ls');
    await expect.poll(() => window.status.getAttribute('aria-label')).toMatch(/\d+ sessions?/);
  });
});

/** Has the Node of the setting do this, after it has noted that it runs. */
function nodeThat(does: string): void {
  writeFileSync(node, `#!/bin/sh\necho run >> '${runs}'\n${does}\n`, { mode: 0o755 });
}

function works(): void {
  nodeThat(`exec ${process.execPath} "$@"`);
}

function runCount(): number {
  return existsSync(runs) ? readFileSync(runs, 'utf8').split('\n').length - 1 : 0;
}
