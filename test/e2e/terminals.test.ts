import { execFileSync } from 'node:child_process';
import { describe, expect } from 'vitest';
import type { SidecarStatus } from '../../sidecar/protocol/protocol.ts';
import type { Session } from '../../sidecar/protocol/session.ts';
import { prompt } from '../support/model/story.ts';
import { atDesk } from './support/at-desk.ts';
import type { Desk } from './support/window.ts';

const it = atDesk();

describe('terminals of sessions', () => {
  it('take Enter for the answer to a permission, and start an agent that has ended again', async ({
    desk,
    window,
  }) => {
    const { world } = desk;
    world.model
      .when(prompt('Correct the answer'))
      .callsTool('Write', ({ cwd }) => ({ file_path: `${cwd}/src/app.js`, content: 'export {};\n' }))
      .thenSays('It is corrected.');
    const { id, worktree } = await world.start('Correct the answer', '--mode', 'manual');
    await world.asks(id);
    await window.openFleet();
    await window.row('Correct the answer').click();
    // The dialog is the agent's own; what it offers first is to allow.
    await window.terminalShows(/Do you want to[\s\S]*❯ 1\. Yes/);
    await window.typeInTerminal('\n');
    await window.terminalShows('It is corrected.');
    expect(world.repository.at(worktree).read('src/app.js')).toBe('export {};\n');
    await world.finished(id);
    await expect.poll(() => window.badge()).toBe('');

    const [before] = await running(desk, id, 'agent');
    await window.page.keyboard.type('/exit');
    await window.terminalShows(/❯ \/exit/);
    await window.page.keyboard.press('Enter');
    await window.terminalShows(/The agent has ended \(exit 0\)\.\s+Press Enter to start the agent again/);
    await window.page.keyboard.press('Enter');
    await window.terminalShows(/It is corrected\.[\s\S]*❯/);
    const [after] = await running(desk, id, 'agent');
    expect(after?.pid).not.toBe(before?.pid);

    // Woken by a prompt, it is in the terminal that it left.
    world.model.when(prompt('And once more')).says('Once more.');
    await world.json('stop', id);
    await window.terminalShows(/The agent (has|was) ended/);
    await world.json('send', id, 'And once more');
    await window.terminalShows('Once more.');
  });

  it('are shells in the worktree, in colour and of the size that is seen', async ({ desk, window }) => {
    const session = await greeted(desk, 'Say hello');
    await window.openFleet();
    await window.choose(window.row('Say hello'), 'New Shell');
    await window.terminalShows(/[$#]/);
    await window.typeInTerminal('cd -P . && printf \'%s\\n\' "at:$PWD" "on:$(git branch --show-current)"\n');
    await window.terminalShows(/at:\//);
    const shown = (await window.terminalText()).replaceAll('\n', '');
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

    const [shell] = await running(desk, session.id, 'shell');
    if (shell === undefined) throw new Error('no shell runs');
    const small = await window.terminalRows();
    await expect.poll(() => sizeOf(shell.pid).rows).toBe(small);
    await window.command('View: Toggle Maximized Panel');
    await expect.poll(() => window.terminalRows()).toBeGreaterThan(small);
    await expect.poll(async () => sizeOf(shell.pid).rows === (await window.terminalRows())).toBe(true);
    const { cols } = sizeOf(shell.pid);
    await window.page.setViewportSize({ width: 900, height: 800 });
    await expect.poll(() => sizeOf(shell.pid).cols).toBeLessThan(cols);
  });

  it('of agents have the size that is seen', async ({ desk, window }) => {
    const { id } = await greeted(desk, 'Greet the harbour');
    await window.openFleet();
    await window.row('Greet the harbour').click();
    await window.terminalShows('Hello.');
    const [agent] = await running(desk, id, 'agent');
    if (agent === undefined) throw new Error('no agent runs');
    await expect.poll(async () => sizeOf(agent.pid).rows === (await window.terminalRows())).toBe(true);
    const small = await window.terminalRows();
    await window.command('View: Toggle Maximized Panel');
    await expect.poll(() => window.terminalRows()).toBeGreaterThan(small);
    await expect.poll(async () => sizeOf(agent.pid).rows === (await window.terminalRows())).toBe(true);
    await window.terminalShows('Hello.');
  });

  it('that flood leave the window alive, and end at Ctrl-C', async ({ desk, window }) => {
    const session = await greeted(desk, 'Greet the flood');
    await window.openFleet();
    await window.row('Greet the flood').click();
    await window.terminalShows('Hello.');
    await window.command('Fairlead: New Shell');
    await window.terminalShows(/[$#]/);
    // More than any machine draws in the time of this test.
    await window.typeInTerminal('seq 1 900000000\n');
    const last = async () => Number((await window.terminalText()).match(/^\d+$/gm)?.at(-1) ?? 0);
    await expect.poll(last, { timeout: 30_000 }).toBeGreaterThan(2_000);
    const frames = await window.framesDuring(async () => {
      // Twice, so that it was not one last window of output.
      for (let n = 0; n < 2; n += 1) {
        const before = await last();
        await expect.poll(last).toBeGreaterThan(before + 200_000);
        await window.row('Greet the flood').hover();
      }
    });
    console.log(`In the flood: ${frames.count} frames, the longest ${Math.round(frames.longest)} ms.`);
    expect(frames.count).toBeGreaterThan(10);
    await window.page.keyboard.press('Control+c');
    await window.page.keyboard.type('echo "calm:$((40 + 2))"\n');
    await window.terminalShows('calm:42');
    expect(await running(desk, session.id, 'shell')).toHaveLength(1);
  });

  it('are there again after a reload, with what they showed, and nothing was started anew', async ({
    desk,
    window,
  }) => {
    const { id } = await greeted(desk, 'Greet again');
    await window.openFleet();
    await window.row('Greet again').click();
    await window.terminalShows('Hello.');
    await window.command('Fairlead: New Shell');
    await window.terminalShows(/[$#]/);
    await window.typeInTerminal('echo "kept:$((40 + 2))"\n');
    await window.terminalShows('kept:42');
    const before = [...(await running(desk, id, 'agent')), ...(await running(desk, id, 'shell'))];
    expect(before).toHaveLength(2);

    for (const reload of [() => window.reloadPage(), () => window.reloadWindow()]) {
      await reload();
      // The one that was looked at is in front again.
      await window.terminalShows('kept:42');
      await expect.poll(() => window.terminals()).toEqual(['Greet again', 'Greet again (shell)']);
      await window.page.locator('.terminal-tabs-entry', { hasText: /Greet again$/ }).click();
      await window.terminalShows('Hello.');
      await window.page.locator('.terminal-tabs-entry', { hasText: '(shell)' }).click();
      await window.terminalShows('kept:42');
      await window.typeInTerminal('echo "on:$((1 + 1))"\n');
      await window.terminalShows('on:2');
      expect([...(await running(desk, id, 'agent')), ...(await running(desk, id, 'shell'))]).toEqual(before);
    }
  });
});

/** A session whose agent has said hello. */
async function greeted({ world }: Desk, task: string): Promise<Session> {
  world.model.when(prompt(task)).says('Hello.');
  const { id } = await world.start(task);
  return world.finished(id);
}

async function running({ world }: Desk, session: string, pane: string) {
  const { terminals } = await world.json<SidecarStatus>('status');
  return terminals.filter((each) => each.session === session && each.pane === pane && each.running);
}

/** Of the terminal that a process runs in, as the kernel has it. */
function sizeOf(pid: number): { rows: number; cols: number } {
  const said = execFileSync('stty', ['-F', `/proc/${pid}/fd/0`, 'size'], { encoding: 'utf8' });
  const [rows = 0, cols = 0] = said.trim().split(' ').map(Number);
  return { rows, cols };
}
