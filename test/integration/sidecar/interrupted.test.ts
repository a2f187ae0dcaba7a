import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { CommandTerminal } from '../../support/command-terminal.ts';
import { TestRepository } from '../../support/repository.ts';
import { SidecarHarness } from '../../support/sidecar.ts';

const INTERRUPT = '\u0003';

describe('Ctrl-C', { timeout: 120_000 }, () => {
  let repository: TestRepository;
  let fairlead: SidecarHarness;
  let made = 0;
  beforeAll(() => {
    repository = TestRepository.with({ 'a.txt': 'a\n' });
    fairlead = new SidecarHarness({ ...repository.environment, SHELL: '/bin/sh' });
  });
  afterAll(async () => {
    await fairlead[Symbol.asyncDispose]();
    repository[Symbol.dispose]();
  });

  const session = async () => {
    made += 1;
    const { session } = await fairlead.json<{ session: Session }>(['new', '--no-start', `Work ${made}`], {
      cwd: repository.folder,
    });
    return session;
  };
  const clients = async () =>
    (await fairlead.json<{ sidecar: { clients: number } }>(['status'])).sidecar.clients;
  /** In a shell, so that it can be asked how the terminal was left. */
  const inShell = (...args: string[]) => {
    const script = `"$@"; echo "[exit $?]"; stty -a | tr ';' '\\n' | grep -E -o -- '-?(icanon|echo|isig)( |$)' | tr -d '\\n'; echo '[done]'`;
    return new CommandTerminal(
      '/bin/sh',
      // Of the two only the command is to be ended.
      ['-c', `trap : INT; ${script}`, 'sh', process.execPath, fairlead.program, ...args],
      fairlead.environment,
      { cwd: repository.folder },
    );
  };
  const leaves = async (terminal: CommandTerminal, code: number) => {
    await terminal.shows('[done]');
    expect(terminal.text).toContain(`[exit ${code}]`);
    expect(terminal.text).toMatch(/isig ?icanon ?echo ?\[done\]/);
    expect(terminal.text).not.toMatch(/-(isig|icanon|echo)\b/);
  };

  it('ends wait with 130, and says nothing', async () => {
    const { id } = await session();
    using terminal = inShell('wait', id, '--for', 'finished');
    // The one that counts is a client, too.
    await expect.poll(clients, { timeout: 20_000 }).toBe(2);
    terminal.type(INTERRUPT);
    await leaves(terminal, 130);
    expect(terminal.text).not.toContain('error');
  });

  it('ends events --follow with 130', async () => {
    const { id } = await session();
    using terminal = inShell('events', '--follow');
    await terminal.shows(id);
    terminal.type(INTERRUPT);
    await leaves(terminal, 130);
  });

  it('at a question ends the command with 130, and nothing was done', async () => {
    const { id, worktree } = await session();
    writeFileSync(join(worktree, 'b.txt'), 'b\n');
    using terminal = inShell('land', id, '--to', 'local');
    await terminal.shows('Commit them and land?');
    terminal.type(INTERRUPT);
    await leaves(terminal, 130);
    expect((await fairlead.show(id)).queue).toBeNull();
  });

  it('in new says that nothing was made', async () => {
    const slow = join(repository.root, 'slow');
    mkdirSync(slow, { recursive: true });
    writeFileSync(
      join(slow, 'git'),
      `#!/bin/sh\ncase " $* " in *" worktree add "*) echo adding >"${slow}/adding"; sleep 5;; esac\nPATH=\${PATH#*:} exec git "$@"\n`,
      { mode: 0o755 },
    );
    using terminal = new CommandTerminal(
      process.execPath,
      [fairlead.program, 'new', '--no-start', 'Interrupted'],
      { ...fairlead.environment, PATH: `${slow}:${fairlead.environment.PATH}` },
      { cwd: repository.folder },
    );
    await expect.poll(() => existsSync(join(slow, 'adding')), { timeout: 30_000 }).toBe(true);
    terminal.type(INTERRUPT);
    expect(await terminal.ended).toBe(130);
    await terminal.shows('Nothing was made.');
    const all = await fairlead.json<Session[]>(['ls', '--all']);
    expect(all.map(({ title }) => title)).not.toContain('Interrupted');
  });

  it('while it lands says that it is still queued, and how to take it out', async () => {
    const { id, worktree } = await session();
    repository.at(worktree).commit({ 'c.txt': 'c\n' }, 'Work');
    using terminal = inShell('land', id, '--to', 'local', '--check', 'exec sleep 600');
    await terminal.shows('checking');
    terminal.type(INTERRUPT);
    await leaves(terminal, 130);
    expect(terminal.text).toContain(`${id} is still queued.`);
    expect(terminal.output).toContain(`fairlead unqueue ${id}`);
    expect((await fairlead.show(id)).queue).not.toBeNull();
    await fairlead.json(['unqueue', id]);
  });

  it('goes to the program in attach; a signal from elsewhere gives the terminal back', async () => {
    const { id } = await session();
    using terminal = inShell('attach', id, '--pane', 'shell');
    terminal.type('echo ready-$((1+1))\r');
    await terminal.shows('ready-2');
    terminal.type('echo sleeping-$((1+1)); sleep 600\r');
    await terminal.shows('sleeping-2');
    terminal.type(INTERRUPT);
    // What is typed before it is read would be dropped with it.
    await terminal.shows('^C');
    terminal.type('echo again-$((1+1))\r');
    await terminal.shows('again-2');
    const pids = childrenOf(terminal.pid);
    expect(pids).toHaveLength(1);
    process.kill(pids[0] ?? 0, 'SIGINT');
    await leaves(terminal, 130);
  });
});

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
