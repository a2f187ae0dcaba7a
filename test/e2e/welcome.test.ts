import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Session } from '../../sidecar/protocol/session.ts';
import { prompt } from '../support/model/story.ts';
import { Application } from './support/application.ts';
import { windowTest } from './support/window-test.ts';
import type { Workbench } from './support/workbench.ts';

const it = windowTest();

describe('where there is no session the view says what to do', () => {
  it('without a folder: to open one', async ({ app }) => {
    await using window = await app.window(null);
    await window.fleet.open();
    await welcome(window, 'Open a folder of a git repository');
    await window.still();
    await app.picture(window, 'welcome no folder');
    await window.fleet.welcome.getByRole('button', { name: 'Open Folder' }).click();
    await window.question.waitFor();
  });

  it('in a folder without a repository: to make one, and finds it then', async ({ app }) => {
    const { world } = app;
    const folder = join(world.repository.root, 'plain');
    mkdirSync(folder);
    await using window = await app.window(folder);
    await window.fleet.open();
    await welcome(window, 'This folder is in no git repository');
    await window.still();
    await app.picture(window, 'welcome no repository');

    // Where others have sessions a row says it: the view is not empty.
    const elsewhere = basename(world.repository.folder);
    const first = await rests(app, 'Rest elsewhere');
    const homeless = window.fleet.row('No repository here');
    await homeless.waitFor();
    await expect
      .poll(() => window.fleet.labels())
      .toEqual(['No repository here, Open Folder…', `${elsewhere}, 1`]);
    await window.still();
    await app.picture(window, 'invitation no repository');
    await homeless.click();
    await window.question.getByText('Open Folder').waitFor();
    await window.page.keyboard.press('Escape');
    await window.question.waitFor({ state: 'hidden' });
    await world.json('archive', first);
    await welcome(window, 'This folder is in no git repository');

    const plain = world.repository.at(folder);
    plain.git('init', '--quiet');
    await window.fleet.welcome.getByRole('button', { name: 'Look Again' }).click();
    await welcome(window, 'This repository has no commit yet');
    await window.still();
    await app.picture(window, 'welcome no commit');
    plain.git('config', 'core.bare', 'true');
    await window.fleet.welcome.getByRole('button', { name: 'Look Again' }).click();
    await window.fleet.row('bare repository').waitFor();
    await window.still();
    await app.picture(window, 'welcome refused repository');
    plain.git('config', 'core.bare', 'false');
    plain.commit({ 'README.md': 'Plain\n' }, 'Start');
    await window.command('Fairlead: Refresh');
    await welcome(window, 'No session yet');

    const second = await rests(app, 'Rest once more');
    const empty = window.fleet.row('No session yet');
    await empty.waitFor();
    await expect
      .poll(() => window.fleet.labels())
      .toEqual(['No session yet, New Session in plain', `${elsewhere}, 1`]);
    await window.still();
    await app.picture(window, 'invitation no session');
    await empty.click();
    await window.question.getByText('New Session').waitFor();
    await window.page.keyboard.press('Escape');
    await world.json('archive', second);
    await welcome(window, 'No session yet');
  });

  it('in a repository: to start one, or to see how it works', async ({ app, window }) => {
    await window.fleet.open();
    await welcome(window, 'No session yet');
    await window.still();
    await app.picture(window, 'welcome no session');
    // Below that the walkthrough is without pictures.
    await window.page.setViewportSize({ width: 1440, height: 900 });
    await window.fleet.welcome.getByRole('button', { name: 'How It Works' }).click();
    await window.page.getByText('From a prompt to a landed branch in three steps.').waitFor();
    const picture = window.page.getByRole('img', { name: 'The New Session prompt above an editor' });
    await picture.waitFor();
    // In the light, as the workbench is.
    await expect.poll(() => picture.getAttribute('srcset')).toContain('session-light.png');
    await window.still();
    await app.picture(window, 'walkthrough');
    await window.fleet.welcome.getByRole('button', { name: 'New Session' }).click();
    await window.question.getByText('New Session').waitFor();
  });

  it('while the sidecar starts: that it does, and without claude: to install it', async ({
    onTestFinished,
  }) => {
    const slow = new SlowNode();
    onTestFinished(() => slow[Symbol.dispose]());
    await using app = await Application.open({
      env: { PATH: '/usr/bin:/bin' },
      machineSettings: { 'fairlead.nodePath': slow.program },
    });
    await using window = await app.window();
    await window.fleet.open();
    await welcome(window, 'Connecting');
    await app.picture(window, 'welcome connecting');
    slow.goOn();
    await welcome(window, 'Claude Code was not found');
    await window.still();
    await app.picture(window, 'welcome no claude');
    await window.fleet.welcome.getByRole('button', { name: 'Doctor' }).click();
    await window.question.getByText('claude', { exact: true }).waitFor();
    await app.picture(window, 'doctor');
  });

  it('when the sidecar cannot start: why, and starts it once it can', async () => {
    await using app = await Application.open();
    const { home } = app.world.fairlead;
    rmdirSync(home);
    writeFileSync(home, 'in the way\n');
    try {
      await using window = await app.window();
      await window.fleet.open();
      await welcome(window, 'The sidecar could not be started');
      await app.picture(window, 'welcome failed');
      await expect.poll(() => window.status.getAttribute('aria-label')).toContain(home);
      await window.fleet.welcome.getByRole('button', { name: 'Show Log' }).click();
      await window.page
        .locator('.panel .output-view, .output-view-content, .pane-body .editor-instance')
        .first()
        .waitFor();
      rmSync(home);
      mkdirSync(home);
      await window.fleet.welcome.getByRole('button', { name: 'Try Again' }).click();
      await welcome(window, 'No session yet');
    } finally {
      rmSync(home, { recursive: true, force: true });
      mkdirSync(home, { recursive: true });
    }
  });
});

describe('in Restricted Mode', () => {
  it('the fleet is shown and nothing is started, until the workspace is trusted', async () => {
    await using app = await Application.open({
      trust: true,
      settings: { 'security.workspace.trust.startupPrompt': 'never' },
    });
    const { world } = app;
    const touched = join(world.repository.root, 'touched');
    // What a repository that came from anywhere would try.
    const node = join(world.repository.root, 'node');
    writeFileSync(node, `#!/bin/sh\ntouch ${touched}\n`, { mode: 0o755 });
    world.repository.commit({ '.vscode/settings.json': JSON.stringify({ 'fairlead.nodePath': node }) });
    {
      await using window = await app.window();
      await window.fleet.open();
      await welcome(window, 'This workspace is in Restricted Mode');
      await window.still();
      await app.picture(window, 'welcome restricted mode');
    }
    world.model.when(prompt('Say hello')).says('Hello.');
    const { id } = await world.start('Say hello');
    await world.finished(id);
    await world.json('stop', id);
    await using window = await app.window();
    await window.fleet.open();
    await window.fleet.row('Say hello').click();
    const refusal = window.notification('Trust the workspace first');
    await refusal.waitFor();
    // So that the next one is known for the command's.
    await window.command('Notifications: Clear All Notifications');
    await refusal.waitFor({ state: 'detached' });
    await window.command('Fairlead: New Session');
    await refusal.waitFor();
    await expect.poll(() => window.question.count()).toBe(0);
    expect(await window.page.locator('.terminal-wrapper').count()).toBe(0);
    expect((await world.fairlead.show(id)).facts.life).toBe('sleeping');
    expect(existsSync(touched)).toBe(false);
    await window.press(refusal, 'Manage Trust');
    await window.page
      .locator('.workspace-trust-editor')
      .getByRole('button', { name: 'Trust', exact: true })
      .click();
    await window.page.locator('.workspace-trust-editor.trusted').waitFor();
    await window.closeModal();
    await window.command('Fairlead: Open Terminal');
    await window.terminal.shows('Hello.');
    // Which program runs the sidecar is no matter of the repository, trusted or not.
    expect(existsSync(touched)).toBe(false);
    // Told to trust, the workbench adds extensions of its own that it has already, and looks for some that it has not.
    window.forgive(
      /Extension `vscode\.[\w-]+` is already registered|Activating extension 'vscode\.[\w-]+' failed/,
    );
  });
});

/** A Node that starts no sidecar before it is told to. */
class SlowNode implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'fairlead-slow-'));
  readonly #gate = join(this.#folder, 'gate');
  readonly program = join(this.#folder, 'node');

  constructor() {
    const waits = `case "$*" in *' up '*) while [ ! -e '${this.#gate}' ]; do sleep 0.1; done;; esac`;
    writeFileSync(this.program, `#!/bin/sh\n${waits}\nexec '${process.execPath}' "$@"\n`, { mode: 0o755 });
  }

  goOn(): void {
    writeFileSync(this.#gate, '');
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

/** A session without an agent in the repository that `app` is about; gives its id. */
async function rests({ world }: Application, title: string): Promise<string> {
  const { session } = await world.json<{ session: Session }>('new', '--no-start', '--title', title);
  return session.id;
}

async function welcome(window: Workbench, text: string): Promise<void> {
  await window.fleet.welcome.getByText(text).waitFor();
}
