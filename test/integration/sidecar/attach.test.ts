import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { quoteWord } from '../../../sidecar/platform/shell.ts';
import type { SidecarStatus } from '../../../sidecar/protocol/protocol.ts';
import type { Turn } from '../../../sidecar/protocol/session.ts';
import { CommandTerminal, terminalOf } from '../../support/command-terminal.ts';
import { prompt } from '../../support/model/story.ts';
import { World } from '../../support/world.ts';

const TIMEOUT = 120_000;
const CTRL_BACKSLASH = '\u001c';

async function sizeOfAgent(world: World, session: string): Promise<string> {
  const { terminals } = await world.json<SidecarStatus>('status');
  const pid = terminals.find((each) => each.session === session && each.pane === 'agent')?.pid ?? 0;
  return execFileSync('stty', ['-F', terminalOf(pid), 'size'], { encoding: 'utf8' }).trim();
}

describe('attach', { timeout: TIMEOUT }, () => {
  it('shows the agent as it stands, takes keys, and goes on without the sidecar', async () => {
    await using world = await World.open();
    world.model.when(prompt('say hello')).says('Hello from the agent.');
    world.model.when(prompt('and again')).says('Here I am again.');
    const session = await world.start('say hello');
    await world.finished(session.id);
    using terminal = CommandTerminal.run(world.fairlead, ['attach', session.id], {
      cwd: world.repository.folder,
    });
    await terminal.shows('Hello from the agent.');
    await world.fairlead.killSidecar();
    terminal.type('and again');
    await terminal.shows('and again');
    terminal.type('\r');
    await terminal.shows('Here I am again.');
    await world.finished(session.id);
    const turns = await world.json<Turn[]>('log', session.id);
    expect(turns.map(({ prompt, answer }) => [prompt, answer])).toEqual([
      ['say hello', 'Hello from the agent.'],
      ['and again', 'Here I am again.'],
    ]);
    terminal.type(CTRL_BACKSLASH);
    expect(await terminal.ended).toBe(0);
    expect(await world.fairlead.show(session.id)).toMatchObject({ state: 'finished' });
  });

  it('gives the agent the size of the terminal, and each new one', async () => {
    await using world = await World.open();
    world.model.when(prompt('say hello')).says('Hello.');
    const session = await world.start('say hello');
    await world.finished(session.id);
    using terminal = CommandTerminal.run(world.fairlead, ['attach', session.id], {
      cwd: world.repository.folder,
      cols: 90,
      rows: 25,
    });
    await terminal.shows('Hello.');
    await expect.poll(() => sizeOfAgent(world, session.id), { timeout: 10_000 }).toBe('25 90');
    terminal.resize(70, 33);
    await expect.poll(() => sizeOfAgent(world, session.id), { timeout: 10_000 }).toBe('33 70');
  });

  it('leaves the agent its size in a terminal that does not know its own, where tables are not cut', async () => {
    await using world = await World.open();
    world.model.when(prompt('say hello')).says('Hello.');
    const session = await world.start('say hello');
    await world.finished(session.id);
    const before = sizeOfAgent(world, session.id);
    const [ls, attach] = [['ls'], ['attach', session.id]].map((args) =>
      [process.execPath, world.fairlead.program, ...args].map(quoteWord).join(' '),
    );
    const script = `stty cols 0 rows 0; ${ls}; ${attach}`;
    using terminal = new CommandTerminal('/bin/sh', ['-c', script], world.fairlead.environment, {
      cwd: world.repository.folder,
      cols: 200,
      // As many as the agent has: it draws anew by rows, which in a lower screen are others.
      rows: 40,
    });
    // The agent's screen is drawn over it at once.
    await expect.poll(() => terminal.output, { timeout: 20_000 }).toContain('Ctrl-\\ leaves');
    expect(terminal.output).toContain('say hello');
    await terminal.shows('Hello.');
    expect(await sizeOfAgent(world, session.id)).toBe(await before);
    terminal.type(CTRL_BACKSLASH);
    expect(await terminal.ended).toBe(0);
  });

  it.each([
    ['Ctrl-\\', CTRL_BACKSLASH],
    ['Ctrl-\\ in the kitty keyboard protocol', '\u001b[92;5u'],
    ["Ctrl-\\ in xterm's own form", '\u001b[27;5;92~'],
  ])('is left with %s, and the terminal is as it was', async (_name, key) => {
    await using world = await World.open();
    const { root, folder } = world.repository;
    const session = await world.json<{ session: { id: string } }>('new', '--no-start', 'x');
    const { id } = session.session;
    const fairlead = [process.execPath, world.fairlead.program, 'attach', '--pane', 'shell', id].map(
      quoteWord,
    );
    const script = `stty -g >${root}/before; ${fairlead.join(' ')}; echo "left with $?"; stty -g >${root}/after`;
    using terminal = new CommandTerminal('/bin/sh', ['-c', script], world.fairlead.environment, {
      cwd: folder,
      env: { SHELL: '/bin/sh', PS1: '$ ' },
    });
    await terminal.shows(/[$#]$/m);
    // A program that leaves its modes on: alternate screen, mouse, bracketed paste, application keys, no cursor.
    terminal.type(
      "printf '\\033[?1049h\\033[?1003h\\033[?1006h\\033[?2004h\\033[?1h\\033[?25l'; echo ma''rk\r",
    );
    await terminal.shows('mark');
    expect(terminal.screen.buffer.active.type).toBe('alternate');
    terminal.type(key);
    await terminal.shows('left with 0');
    expect(await terminal.ended).toBe(0);
    expect(terminal.text).toContain('[left; the shell goes on]');
    expect(terminal.text).toContain(`fairlead attach ${id} --pane shell`);
    expect(terminal.screen.buffer.active.type).toBe('normal');
    expect(terminal.screen.modes).toMatchObject({
      mouseTrackingMode: 'none',
      bracketedPasteMode: false,
      applicationCursorKeysMode: false,
    });
    expect(readFileSync(join(root, 'after'), 'utf8')).toBe(readFileSync(join(root, 'before'), 'utf8'));
  });

  it('gives the terminal back when it is ended by a signal', async () => {
    await using world = await World.open();
    const { root } = world.repository;
    const { session } = await world.json<{ session: { id: string } }>('new', '--no-start', 'x');
    const fairlead = [process.execPath, world.fairlead.program, 'attach', '--pane', 'shell', session.id].map(
      quoteWord,
    );
    const script = `stty -g >before; ${fairlead.join(' ')} & echo $! >pid; fg >/dev/null; stty -g >after; echo done`;
    using terminal = new CommandTerminal('/bin/bash', ['-m', '-c', script], world.fairlead.environment, {
      cwd: root,
      env: { SHELL: '/bin/sh' },
    });
    await terminal.shows(/[$#]$/m);
    process.kill(Number(readFileSync(join(root, 'pid'), 'utf8')), 'SIGTERM');
    await terminal.shows('done');
    expect(readFileSync(join(root, 'after'), 'utf8')).toBe(readFileSync(join(root, 'before'), 'utf8'));
  });

  it('--pane shell gives a shell in the worktree, the same one the next time, and ends with it', async () => {
    await using world = await World.open();
    const { session } = await world.json<{ session: { id: string; worktree: string; branch: string } }>(
      'new',
      '--no-start',
      'x',
    );
    const open = () =>
      CommandTerminal.run(world.fairlead, ['attach', session.id, '--pane', 'shell'], {
        cwd: world.repository.folder,
        cols: 160,
      });
    {
      using terminal = open();
      terminal.type('pwd; git branch --show-current; echo id=$FAIRLEAD_SESSION; kept=here\r');
      await terminal.shows(session.worktree);
      await terminal.shows(session.branch);
      await terminal.shows(`id=${session.id}`);
      terminal.type(CTRL_BACKSLASH);
      expect(await terminal.ended).toBe(0);
    }
    using terminal = open();
    // What was on the screen is there again, and the shell is the one that was left.
    await terminal.shows(`id=${session.id}`);
    terminal.type('echo "still $kept"\r');
    await terminal.shows('still here');
    terminal.type('exit 3\r');
    expect(await terminal.ended).toBe(0);
    expect(terminal.output).toContain('exit 3');
  });

  it('says how it is left, before the screen is drawn and as the title, and then how to come back', async () => {
    await using world = await World.open();
    world.model.when(prompt('say hello')).says('Hello from the agent.');
    const { id } = await world.start('say hello');
    await world.finished(id);
    using terminal = CommandTerminal.run(world.fairlead, ['attach', id], { cwd: world.repository.folder });
    const told = `fairlead ${id}: Ctrl-\\ leaves, and the agent goes on`;
    await terminal.shows('Hello from the agent.');
    expect(terminal.output.indexOf(told)).toBeGreaterThanOrEqual(0);
    expect(terminal.output.indexOf(told)).toBeLessThan(terminal.output.indexOf('\u001bc'));
    expect(terminal.output).toContain(`\u001b[22;2t\u001b]2;${told}\u0007`);
    expect(terminal.text).not.toContain(told);
    terminal.type(CTRL_BACKSLASH);
    expect(await terminal.ended).toBe(0);
    expect(terminal.output).toContain('\u001b[23;2t');
    await terminal.shows('[left; the agent goes on]');
    await terminal.shows(`fairlead attach ${id}`);
  });

  it('says how an agent that has ended is started again', async () => {
    await using world = await World.open();
    world.model.when(prompt('say hello')).says('Hello.');
    const { id } = await world.start('say hello');
    await world.finished(id);
    using terminal = CommandTerminal.run(world.fairlead, ['attach', id], { cwd: world.repository.folder });
    await terminal.shows('Hello.');
    terminal.type('/exit');
    await terminal.shows('/exit');
    terminal.type('\r');
    expect(await terminal.ended).toBe(0);
    await terminal.shows('[ended (exit 0)]');
    await terminal.shows(`fairlead resume ${id}`);
  });

  it('needs a terminal', async () => {
    await using world = await World.open();
    const { session } = await world.json<{ session: { id: string } }>('new', '--no-start', 'x');
    expect(await world.error('attach', session.id)).toMatchObject({ code: 'usage', exit: 2 });
  });
});
