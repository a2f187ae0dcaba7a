import { describe, expect } from 'vitest';
import type { SidecarStatus } from '../../sidecar/protocol/protocol.ts';
import { prompt } from '../support/model/story.ts';
import { gone } from '../support/sidecar.ts';
import { atDesk } from './support/at-desk.ts';

const it = atDesk();

describe('a window', () => {
  it('goes on when the sidecar is killed in the midst of a turn', async ({ desk, window }) => {
    const { world } = desk;
    const gate = Promise.withResolvers<void>();
    world.model
      .when(prompt('Think it over'))
      .says('A moment.')
      .callsTool('Read', ({ cwd }) => ({ file_path: `${cwd}/README.md` }))
      .andThen()
      .waitsFor(() => gate.promise)
      .says('Thought over.');
    const { id } = await world.start('Think it over');
    await window.openFleet();
    await window.row('Think it over').click();
    await window.terminalShows('A moment.');
    const before = await world.json<SidecarStatus>('status');
    await world.fairlead.killSidecar();
    // What the agent writes while nobody knows of it is in the terminal all the same.
    gate.resolve();
    await window.terminalShows('Thought over.');
    await window.row(/Think it over/).waitFor();
    const ended = await world.finished(id);
    const after = await world.json<SidecarStatus>('status');
    expect(after.sidecar.pid).not.toBe(before.sidecar.pid);
    expect(after.terminals).toEqual(before.terminals);
    await expect
      .poll(() => window.row(/Think it over/).getAttribute('aria-label'))
      .toMatch(new RegExp(`, finished, .* ${ended.branch}$`));

    await window.command('Fairlead: Rename');
    await window.answer('Thought over');
    await window.row('Thought over').waitFor();
    await expect.poll(() => window.terminals()).toEqual(['Thought over']);
  });

  it('has everything again when its server was killed', async ({ desk, window }) => {
    const { world, server } = desk;
    world.model.when(prompt('Outlive the server')).says('I go on.');
    const { id } = await world.start('Outlive the server');
    await world.finished(id);
    await window.openFleet();
    await window.row('Outlive the server').click();
    await window.terminalShows('I go on.');
    const before = await world.json<SidecarStatus>('status');
    await server.kill();
    await server.serve();
    await window.reloadPage();
    // While its server is gone the workbench complains of everything.
    window.forgive(/./);
    await window.terminalShows('I go on.');
    await window.row('Outlive the server').waitFor();
    const after = await world.json<SidecarStatus>('status');
    expect(after.sidecar.pid).toBe(before.sidecar.pid);
    expect(after.terminals).toEqual(before.terminals);
  });

  it('tells that terminals were lost with their host, and starts the agent again', async ({
    desk,
    window,
  }) => {
    const { world } = desk;
    world.model.when(prompt('Outlive the terminal')).says('First.');
    const { id } = await world.start('Outlive the terminal');
    await world.finished(id);
    await window.openFleet();
    await window.row('Outlive the terminal').click();
    await window.terminalShows('First.');
    const ptyhost = await world.fairlead.ptyhostPid();
    if (ptyhost === undefined) throw new Error('no ptyhost runs');
    process.kill(ptyhost, 'SIGKILL');
    await gone(ptyhost);
    const lost = await world.fairlead.until(id, ({ reason }) => reason?.kind === 'terminal-lost');
    await expect
      .poll(() => window.row('Outlive the terminal').getAttribute('aria-label'))
      .toContain('needs you: terminal-lost');
    expect(lost.state).toBe('needs-you');

    await window.terminalShows(/This terminal was lost[\s\S]*Press Enter/);
    await window.typeInTerminal('\n');
    await window.terminalShows(/First\.[\s\S]*❯/);
    await expect.poll(async () => (await world.fairlead.show(id)).state).not.toBe('needs-you');
  });
});
