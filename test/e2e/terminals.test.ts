import { execFileSync } from 'node:child_process';
import { describe, expect } from 'vitest';
import type { SidecarStatus } from '../../sidecar/protocol/protocol.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { prompt } from '../support/model/story.ts';
import type { Application } from './support/application.ts';
import { windowTest } from './support/window-test.ts';

const it = windowTest();

describe('terminals of sessions', () => {
  it('take Enter for the answer to a permission, and start an agent that has ended again', async ({
    app,
    window,
  }) => {
    const { world } = app;
    world.model
      .when(prompt('Correct the answer'))
      .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/src/app.js`, content: 'export {};\n' }))
      .thenSays('It is corrected.');
    const { id, worktree } = await world.start('Correct the answer', '--mode', 'manual');
    await world.asks(id);
    await window.fleet.open();
    await window.fleet.row('Correct the answer').click();
    // The dialog is the agent's own; what it offers first is to allow.
    await window.terminal.shows(/Do you want to[\s\S]*❯ 1\. Yes/);
    await window.terminal.type('\n');
    await window.terminal.shows('It is corrected.');
    expect(world.repository.at(worktree).read('src/app.js')).toBe('export {};\n');
    await world.finished(id);
    await expect.poll(() => window.fleet.badge()).toBe('');

    const [before] = await running(app, id, 'agent');
    await window.page.keyboard.type('/exit');
    await window.terminal.shows(/❯ \/exit/);
    await window.page.keyboard.press('Enter');
    await window.terminal.shows(/The agent has ended \(exit 0\)\.\s+Press Enter to start the agent again/);
    await window.page.keyboard.press('Enter');
    await window.terminal.shows(/It is corrected\.[\s\S]*❯/);
    const [after] = await running(app, id, 'agent');
    expect(after?.pid).not.toBe(before?.pid);

    // Woken by a prompt, it is in the terminal that it left.
    world.model.when(prompt('And once more')).says('Once more.');
    await world.json('stop', id);
    await window.terminal.shows('The agent was stopped.');
    await world.json('send', id, 'And once more');
    await window.terminal.shows('Once more.');
  });

  it('leave the keys of New Session to the window', async ({ app, window }) => {
    await greeted(app, 'Greet by key');
    await window.fleet.open();
    await window.fleet.row('Greet by key').click();
    await window.terminal.shows(/❯/);
    await window.terminal.type('');
    await window.page.keyboard.press('Control+k');
    await window.page.keyboard.press('Shift+N');
    await window.question.getByText('New Session').waitFor();
    await window.page.keyboard.press('Escape');
  });

  it('of VS Code itself have the command', async ({ window }) => {
    await window.fleet.open();
    await window.command('Terminal: Create New Terminal');
    await window.terminal.shows(/[$#]\s*$/);
    await window.terminal.type('fairlead status\n');
    await window.terminal.shows(/sidecar +\d+/);
    // A shell that is left is there again in the next window.
    await window.command('Terminal: Kill the Active Terminal Instance');
    await expect.poll(() => window.page.locator('.terminal-wrapper').count()).toBe(0);
  });

  it('are shells in the worktree, in colour and of the size that is seen', async ({ app, window }) => {
    const session = await greeted(app, 'Say hello');
    await window.fleet.open();
    await window.fleet.choose(window.fleet.row('Say hello'), 'New Shell');
    await window.terminal.shows(/[$#]/);
    await window.terminal.type('cd -P . && printf \'%s\\n\' "at:$PWD" "on:$(git branch --show-current)"\n');
    await window.terminal.shows(/at:\//);
    const shown = (await window.terminal.text()).replaceAll('\n', '');
    expect(shown).toContain(`at:${session.worktree}`);
    expect(shown).toContain(`on:${session.branch}`);

    await window.page.keyboard.type(
      "clear; printf '\\033[31mwarm\\033[0m \\033[38;2;1;2;3mexact\\033[0m\\n'\n",
    );
    const spans = window.page.locator('.terminal-wrapper.active .xterm-rows > div > span');
    await expect.poll(() => spans.filter({ hasText: /^warm$/ }).count()).toBe(1);
    expect(await spans.filter({ hasText: /^warm$/ }).getAttribute('class')).toMatch(/\bxterm-fg-1\b/);
    const exact = spans.filter({ hasText: /^exact$/ });
    expect(await exact.getAttribute('style')).toMatch(/color: ?(#010203|rgb\(1, 2, 3\))/);

    const [shell] = await running(app, session.id, 'shell');
    if (shell === undefined) throw new Error('no shell runs');
    const small = await window.terminal.rows();
    await expect.poll(() => sizeOf(shell.pid).rows).toBe(small);
    await window.command('View: Toggle Maximized Panel');
    await expect.poll(() => window.terminal.rows()).toBeGreaterThan(small);
    await expect.poll(async () => sizeOf(shell.pid).rows === (await window.terminal.rows())).toBe(true);
    const { cols } = sizeOf(shell.pid);
    await window.page.setViewportSize({ width: 900, height: 800 });
    await expect.poll(() => sizeOf(shell.pid).cols).toBeLessThan(cols);
  });

  it('of agents have the size that is seen', async ({ app, window }) => {
    const { id } = await greeted(app, 'Greet the harbour');
    await window.fleet.open();
    await window.fleet.row('Greet the harbour').click();
    await window.terminal.shows('Hello.');
    const [agent] = await running(app, id, 'agent');
    if (agent === undefined) throw new Error('no agent runs');
    await expect.poll(async () => sizeOf(agent.pid).rows === (await window.terminal.rows())).toBe(true);
    const small = await window.terminal.rows();
    await window.command('View: Toggle Maximized Panel');
    await expect.poll(() => window.terminal.rows()).toBeGreaterThan(small);
    await expect.poll(async () => sizeOf(agent.pid).rows === (await window.terminal.rows())).toBe(true);
    await window.terminal.shows('Hello.');
  });

  it('have the size of the window that is used, where two show them', async ({ app, window }) => {
    const { id } = await greeted(app, 'Greet two windows');
    await using other = await app.window(undefined, { width: 1000, height: 640 });
    for (const each of [window, other]) {
      await each.fleet.open();
      await each.fleet.row('Greet two windows').click();
      await each.terminal.shows('Hello.');
    }
    const [agent] = await running(app, id, 'agent');
    if (agent === undefined) throw new Error('no agent runs');
    const kernel = () => sizeOf(agent.pid);
    // The one that came last. The other draws it as small.
    await expect.poll(() => kernel().cols).toBeLessThan(100);
    const small = kernel();
    for (const each of [window, other]) await expect.poll(() => each.terminal.rows()).toBe(small.rows);
    await window.terminal.type('from the large');
    await expect.poll(() => kernel().cols).toBeGreaterThan(small.cols);
    const large = kernel();
    expect(large.rows).toBeGreaterThan(small.rows);
    await expect.poll(() => window.terminal.rows()).toBe(large.rows);
    await window.terminal.shows('from the large');
    await other.terminal.type(' and the small');
    await expect.poll(kernel).toEqual(small);
    for (const each of [window, other]) {
      await expect.poll(() => each.terminal.rows()).toBe(small.rows);
      await each.terminal.shows('from the large and the small');
    }
  });

  it('have links to the files of the session', async ({ app, window }) => {
    const { world } = app;
    world.model
      .when(prompt('Number the piers'))
      .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/docs/piers.txt`, content: 'One\nTwo\nThree\n' }))
      .thenSays('The second one is in docs/piers.txt:2 now.');
    const { id } = await world.start('Number the piers', '--mode', 'acceptEdits');
    await world.finished(id);
    await window.fleet.open();
    await window.fleet.row('Number the piers').click();
    await window.terminal.shows('docs/piers.txt:2 now');
    await window.terminal.followLink('docs/piers.txt:2', 'Open the file of the session');
    await window.tab('piers.txt').waitFor();
    await window.page.locator('.editor-instance').getByText('Three').waitFor();
    await window.page.locator('.statusbar-item', { hasText: 'Ln 2, Col 1' }).waitFor();
    // As it is in the session, not in the person's checkout.
    expect(world.repository.read('docs/piers.txt')).toBeUndefined();
  });

  it('that flood leave the window alive, and end at Ctrl-C', async ({ app, window }) => {
    const session = await greeted(app, 'Greet the flood');
    await window.fleet.open();
    await window.fleet.row('Greet the flood').click();
    await window.terminal.shows('Hello.');
    await window.command('Fairlead: New Shell');
    await window.terminal.shows(/[$#]/);
    // More than any machine draws in the time of this test.
    await window.terminal.type('seq 1 900000000\n');
    const last = async () => Number((await window.terminal.text()).match(/^\d+$/gm)?.at(-1) ?? 0);
    await expect.poll(last, { timeout: 30_000 }).toBeGreaterThan(2_000);
    const frames = await window.rendering.framesDuring(async () => {
      // Twice, so that it was not one last window of output.
      for (let n = 0; n < 2; n += 1) {
        const before = await last();
        await expect.poll(last).toBeGreaterThan(before + 200_000);
        await window.fleet.row('Greet the flood').hover();
      }
    });
    console.log(`In the flood: ${frames.count} frames, the longest ${Math.round(frames.longest)} ms.`);
    expect(frames.count).toBeGreaterThan(10);
    await window.page.keyboard.press('Control+c');
    await window.page.keyboard.type('echo "calm:$((40 + 2))"\n');
    await window.terminal.shows('calm:42');
    expect(await running(app, session.id, 'shell')).toHaveLength(1);
  });

  it('are there again after a reload, with what they showed, and nothing was started anew', async ({
    app,
    window,
  }) => {
    const { id } = await greeted(app, 'Greet again');
    await window.fleet.open();
    await window.fleet.row('Greet again').click();
    await window.terminal.shows('Hello.');
    await window.command('Fairlead: New Shell');
    await window.terminal.shows(/[$#]/);
    await window.terminal.type('echo "kept:$((40 + 2))"\n');
    await window.terminal.shows('kept:42');
    const before = [...(await running(app, id, 'agent')), ...(await running(app, id, 'shell'))];
    expect(before).toHaveLength(2);

    for (const reload of [() => window.reloadPage(), () => window.reloadWindow()]) {
      await reload();
      // The one that was looked at is in front again.
      await window.terminal.shows('kept:42');
      await expect.poll(() => window.terminal.names()).toEqual(['Greet again', 'Greet again (shell)']);
      await window.page.locator('.terminal-tabs-entry', { hasText: /Greet again$/ }).click();
      await window.terminal.shows('Hello.');
      await window.page.locator('.terminal-tabs-entry', { hasText: '(shell)' }).click();
      await window.terminal.shows('kept:42');
      await window.terminal.type('echo "on:$((1 + 1))"\n');
      await window.terminal.shows('on:2');
      expect([...(await running(app, id, 'agent')), ...(await running(app, id, 'shell'))]).toEqual(before);
    }
  });
});

/** A session whose agent has said hello. */
async function greeted({ world }: Application, task: string): Promise<Session> {
  world.model.when(prompt(task)).says('Hello.');
  const { id } = await world.start(task);
  return world.finished(id);
}

async function running({ world }: Application, session: string, pane: string) {
  const { terminals } = await world.json<SidecarStatus>('status');
  return terminals.filter((each) => each.session === session && each.pane === pane && each.running);
}

/** Of the terminal that a process runs in, as the kernel has it. */
function sizeOf(pid: number): { rows: number; cols: number } {
  const said = execFileSync('stty', ['-F', `/proc/${pid}/fd/0`, 'size'], { encoding: 'utf8' });
  const [rows = 0, cols = 0] = said.trim().split(' ').map(Number);
  return { rows, cols };
}
