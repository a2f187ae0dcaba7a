import { spawn } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  EventHappened,
  FollowEvents,
  ListSessions,
  SessionChanged,
  type SidecarStatus,
} from '../../../sidecar/protocol/protocol.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { Bundles } from '../../support/bundles.ts';
import { SCRIPTED_KEY } from '../../support/claude.ts';
import { connectTo, TestClient } from '../../support/client.ts';
import { CommandTerminal } from '../../support/command-terminal.ts';
import { prompt } from '../../support/model/story.ts';
import { PrivateRemote } from '../../support/private-remote.ts';
import { gone, processesOf, SidecarHarness } from '../../support/sidecar.ts';
import { World } from '../../support/world.ts';

const TIMEOUT = 120_000;
const PLAIN = { PATH: process.env.PATH ?? '', HOME: '/nonexistent' };
/** Milliseconds of idleness after which the daemons of a test end themselves. */
const IDLE_MS = 400;

interface Up {
  pid: number;
  version: string;
}

/** The process of the agent of a session. */
async function agentPid(fairlead: SidecarHarness, session: string): Promise<number> {
  const { terminals } = await fairlead.json<SidecarStatus>(['status']);
  const terminal = terminals.find(
    (each) => each.session === session && each.pane === 'agent' && each.running,
  );
  if (terminal === undefined) throw new Error(`${session} has no agent: ${JSON.stringify(terminals)}`);
  return terminal.pid;
}

function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

function daemons(home: string, script: string): number[] {
  return processesOf(home).filter((pid) => {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return command.some((word) => basename(word) === script);
  });
}

async function eventually(what: string, isSo: () => boolean): Promise<void> {
  for (let waited = 0; waited < 20_000; waited += 25) {
    if (isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`never: ${what}`);
}

describe('starting the sidecar', { timeout: TIMEOUT }, () => {
  it('eight times at once gives one', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    const answers = await Promise.all(Array.from({ length: 8 }, () => fairlead.json<Up>(['up'])));
    expect(new Set(answers.map(({ pid }) => pid)).size).toBe(1);
    expect(daemons(fairlead.home, 'sidecar.js')).toEqual([answers[0]?.pid]);
  });

  it('gets over the socket of one that was killed, and over anything else in its place', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    const first = await fairlead.killSidecar();
    const socket = join(fairlead.home, 'run', 'sidecar.sock');
    expect(lstatSync(socket).isSocket()).toBe(true);
    const second = await fairlead.killSidecar();
    expect(second).not.toBe(first);
    writeFileSync(`${socket}.plain`, '');
    renameSync(`${socket}.plain`, socket);
    expect((await fairlead.json<Up>(['up'])).pid).not.toBe(second);
    expect(lstatSync(socket).isSocket()).toBe(true);
  });

  it('right behind one that ends gives the next one', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    const pids = new Set<number>();
    for (let round = 0; round < 5; round += 1) {
      const { pid } = await fairlead.json<Up>(['up']);
      pids.add(pid);
      process.kill(pid, 'SIGTERM');
    }
    const all = await Promise.all([fairlead.json<Up>(['up']), fairlead.json<Up>(['up'])]);
    expect(daemons(fairlead.home, 'sidecar.js')).toHaveLength(1);
    expect(all[0].pid).toBe(all[1].pid);
    expect(pids.size).toBeGreaterThan(1);
  });

  it('makes what nobody else may read, whatever the umask', async () => {
    await using world = await World.open();
    const { home } = world.fairlead;
    const umask = process.umask(0);
    try {
      world.model.when(prompt('hello')).says('Hello.');
      const session = await world.start('hello');
      await world.finished(session.id);
    } finally {
      process.umask(umask);
    }
    const mode = (path: string) => (statSync(join(home, path)).mode & 0o777).toString(8);
    for (const folder of ['run', 'logs', 'secrets', 'worktrees', 'versions']) {
      expect([folder, mode(folder)]).toEqual([folder, '700']);
    }
    const files = [
      'state.db',
      'run/sidecar.sock',
      'run/ptyhost.sock',
      'logs/sidecar.log',
      'logs/sidecar.out',
    ];
    for (const file of [...files, 'state.db-wal', 'state.db-shm']) {
      if (existsSync(join(home, file))) expect([file, mode(file)]).toEqual([file, '600']);
    }
    expect(files.filter((file) => !existsSync(join(home, file)))).toEqual([]);
  });
});

describe('ending', { timeout: TIMEOUT }, () => {
  it('comes by itself to a sidecar and a ptyhost that have nothing to do, not while an agent lives', async () => {
    await using world = await World.open({ env: { FAIRLEAD_IDLE_MS: String(IDLE_MS) } });
    const { fairlead } = world;
    world.model.when(prompt('hello')).says('Hello.');
    const session = await world.start('hello');
    await world.finished(session.id);
    const [sidecar] = daemons(fairlead.home, 'sidecar.js');
    const [ptyhost] = daemons(fairlead.home, 'ptyhost.js');
    if (sidecar === undefined || ptyhost === undefined) throw new Error('no daemons');
    await new Promise((resolve) => setTimeout(resolve, 4 * IDLE_MS));
    expect([isRunning(sidecar), isRunning(ptyhost)]).toEqual([true, true]);

    await world.json('stop', session.id);
    await gone(sidecar);
    await gone(ptyhost);
    expect(readdirSync(join(fairlead.home, 'run')).filter((name) => name.endsWith('.sock'))).toEqual([]);
    // What was known is known again.
    expect(await fairlead.show(session.id)).toMatchObject({ facts: { life: 'sleeping' }, turns: 1 });
  });

  it('does not come to a sidecar that has a client', async () => {
    await using fairlead = new SidecarHarness({ ...PLAIN, FAIRLEAD_IDLE_MS: String(IDLE_MS) });
    const { pid } = await fairlead.json<Up>(['up']);
    const client = await TestClient.connect(fairlead.home);
    await new Promise((resolve) => setTimeout(resolve, 3 * IDLE_MS));
    expect(isRunning(pid)).toBe(true);
    client[Symbol.dispose]();
    await gone(pid);
  });

  it('with down leaves the agents, with down --all leaves nothing', async () => {
    await using world = await World.open();
    const { fairlead } = world;
    world.model.when(prompt('hello')).says('Hello.');
    const session = await world.start('hello');
    await world.finished(session.id);
    const agent = await agentPid(fairlead, session.id);
    const sidecar = await fairlead.sidecarPid();

    expect(await fairlead.json(['down'])).toEqual({ stopped: true, running: 1, ended: 0 });
    await gone(sidecar);
    expect(isRunning(agent)).toBe(true);
    expect((await fairlead.run(['down'])).stdout).toContain('down --all');
    expect(isRunning(agent)).toBe(true);

    // No sidecar runs, and still every agent is found and ended.
    expect(await fairlead.json(['down', '--all'])).toEqual({ stopped: true, running: 0, ended: 1 });
    await gone(agent);
    await eventually('all processes are gone', () => processesOf(fairlead.home).length === 0);
    expect(readdirSync(join(fairlead.home, 'run')).filter((name) => name.endsWith('.sock'))).toEqual([]);
    expect(await fairlead.json(['down', '--all'])).toEqual({ stopped: false, running: 0, ended: 0 });
    expect(await fairlead.show(session.id)).toMatchObject({ facts: { life: 'sleeping' } });
  });

  it('by SIGTERM is orderly: agents go on, and the next sidecar knows them', async () => {
    await using world = await World.open();
    const { fairlead } = world;
    world.model.when(prompt('hello')).says('Hello.');
    const session = await world.start('hello');
    await world.finished(session.id);
    const agent = await agentPid(fairlead, session.id);
    const sidecar = await fairlead.sidecarPid();
    process.kill(sidecar, 'SIGTERM');
    await gone(sidecar);
    expect(existsSync(join(fairlead.home, 'run', 'sidecar.sock'))).toBe(false);
    expect(isRunning(agent)).toBe(true);
    expect(await fairlead.show(session.id)).toMatchObject({ state: 'finished', turns: 1 });
    expect(await agentPid(fairlead, session.id)).toBe(agent);
  });

  it('does not wait for a client that never closes its side', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    const { pid } = await fairlead.json<Up>(['up']);
    const deaf = await connectTo(fairlead.home);
    deaf.pause();
    process.kill(pid, 'SIGTERM');
    await gone(pid);
    deaf.destroy();
  });
});

describe('two clients of one sidecar', { timeout: TIMEOUT }, () => {
  it('see the same fleet as it changes, and neither takes the other along', async () => {
    await using world = await World.open();
    const { fairlead } = world;
    world.model.when(prompt('hello')).says('Hello.');
    await fairlead.json(['up']);
    using one = await TestClient.connect(fairlead.home);
    using other = await TestClient.connect(fairlead.home);
    const seen = [one, other].map((client) => {
      const states: string[] = [];
      const events: string[] = [];
      client.on(SessionChanged, ({ state }) => states.push(state));
      client.on(EventHappened, ({ kind }) => events.push(kind));
      return { states, events };
    });
    await Promise.all([one, other].map((client) => client.request(FollowEvents, { after: 0, follow: true })));
    const session = await world.start('hello');
    await world.finished(session.id);
    for (const { states, events } of seen) {
      await eventually('the client sees the end of the turn', () => states.at(-1) === 'finished');
      expect(events).toContain('session-created');
    }
    one.socket.destroy();
    expect((await other.request(ListSessions, {})).map(({ id, state }) => [id, state])).toEqual([
      [session.id, 'finished'],
    ]);
  });
});

describe('two versions of fairlead', { timeout: TIMEOUT }, () => {
  it('the newer one replaces an older sidecar that is idle; its agents go on', async () => {
    using bundles = new Bundles();
    await using world = await World.open();
    const old = world.fairlead.withBundle(bundles.of('0.0.9'));
    const young = world.fairlead.withBundle(bundles.of('9.0.0'));
    world.model.when(prompt('hello')).says('Hello.');
    world.model.when(prompt('again')).says('Again.');
    const { session } = await old.json<{ session: Session }>(['new', 'hello'], {
      cwd: world.repository.folder,
    });
    await old.until(session.id, ({ state }) => state === 'finished', 45_000);
    const agent = await agentPid(old, session.id);
    const before = await old.json<Up>(['up']);
    expect(before.version).toBe('0.0.9');

    const after = await young.json<Up>(['up']);
    expect(after.version).toBe('9.0.0');
    await gone(before.pid);
    expect(await agentPid(young, session.id)).toBe(agent);
    expect(await young.json(['send', session.id, 'again'])).toMatchObject({ confirmed: true });
    await young.json(['wait', session.id]);

    // Never the reverse: the older program uses the newer sidecar.
    expect(await old.json<Up>(['up'])).toMatchObject({ pid: after.pid, version: '9.0.0' });
    expect(await old.show(session.id)).toMatchObject({ state: 'finished', turns: 2 });
    expect(isRunning(after.pid)).toBe(true);
  });

  it('the newer one leaves an older sidecar that is busy, and works with it', async () => {
    using bundles = new Bundles();
    await using world = await World.open();
    const old = world.fairlead.withBundle(bundles.of('0.0.9'));
    const young = world.fairlead.withBundle(bundles.of('9.0.0'));
    const gate = Promise.withResolvers<void>();
    world.model
      .when(prompt('take your time'))
      .waitsFor(() => gate.promise)
      .says('Done.');
    const { session } = await old.json<{ session: Session }>(['new', 'take your time'], {
      cwd: world.repository.folder,
    });
    await old.until(session.id, ({ state }) => state === 'working', 45_000);
    const { pid } = await old.json<Up>(['up']);
    expect(await young.json<Up>(['up'])).toMatchObject({ pid, version: '0.0.9' });
    expect(await young.show(session.id)).toMatchObject({ state: 'working' });
    gate.resolve();
    await young.until(session.id, ({ state }) => state === 'finished', 45_000);
    // The first command that finds it idle and alone.
    await young.json(['up']);
    using client = await TestClient.connect(world.fairlead.home);
    expect(client.info.version).toBe('9.0.0');
  });

  it('the newer one leaves an older sidecar that another client uses', async () => {
    using bundles = new Bundles();
    await using fairlead = new SidecarHarness(PLAIN, { bundle: bundles.of('0.0.9') });
    const young = fairlead.withBundle(bundles.of('9.0.0'));
    const { pid } = await fairlead.json<Up>(['up']);
    const client = await TestClient.connect(fairlead.home);
    expect(await young.json<Up>(['up'])).toMatchObject({ pid, version: '0.0.9' });
    client[Symbol.dispose]();
    await eventually('the client is gone', () => client.socket.destroyed);
    let version = '';
    for (let tries = 0; tries < 20 && version !== '9.0.0'; tries += 1)
      ({ version } = await young.json<Up>(['up']));
    expect(version).toBe('9.0.0');
  });
});

describe('the environment of an agent', { timeout: TIMEOUT }, () => {
  it("is the person's, without what belongs to the editor, the terminal or the agent that asked", async () => {
    const foreign = {
      CLAUDECODE: '1',
      CLAUDE_CODE_CHILD_SESSION: '1',
      CLAUDE_CODE_ENTRYPOINT: 'cli',
      VSCODE_IPC_HOOK_CLI: '/tmp/vscode.sock',
      VSCODE_GIT_ASKPASS_NODE: '/usr/bin/node',
      ELECTRON_RUN_AS_NODE: '1',
      NODE_OPTIONS: '--no-deprecation',
      GIT_DIR: '/nonexistent',
      GIT_WORK_TREE: '/nonexistent',
      GIT_INDEX_FILE: '/nonexistent',
      GIT_ASKPASS: '/nonexistent',
      FAIRLEAD_SESSION: 'parent',
      FAIRLEAD_ASKPASS_TOKEN: 'stolen',
      TMUX: '/tmp/tmux-0/default,1,0',
      TERM_PROGRAM: 'vscode',
      TERM: 'dumb',
    };
    const kept = { CLAUDE_CODE_MAX_OUTPUT_TOKENS: '4096', MY_SETTING: 'a b\nc', GIT_AUTHOR_NAME: 'Ada' };
    await using world = await World.open({ env: { ...foreign, ...kept } });
    world.model.when(prompt('hello')).says('Hello.');
    const session = await world.start('hello');
    await world.finished(session.id);
    const pid = await agentPid(world.fairlead, session.id);
    const environment = Object.fromEntries(
      readFileSync(`/proc/${pid}/environ`, 'utf8')
        .split('\0')
        .filter((entry) => entry !== '')
        .map((entry) => entry.split(/=(.*)/s).slice(0, 2)),
    );
    expect(environment).toMatchObject({
      ...kept,
      HOME: world.claude.home,
      ANTHROPIC_BASE_URL: world.model.url,
      TERM: 'xterm-256color',
      FAIRLEAD_SESSION: session.id,
      FAIRLEAD_WORKTREE: session.worktree,
      FAIRLEAD_BRANCH: session.branch,
    });
    const inherited = Object.keys(foreign).filter((name) => !/^(TERM|FAIRLEAD_SESSION)$/.test(name));
    expect(inherited.filter((name) => name in environment)).toEqual([]);
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe(session.worktree);
    // A parent's mark would have turned the transcript off.
    expect(await world.json<unknown[]>('log', session.id)).toHaveLength(1);
  });

  it('has an ssh agent that stays when the window that brought it goes', async () => {
    await using world = await World.open();
    const { root } = world.repository;
    const sockets = ['first', 'second'].map((name) => join(root, `${name}.sock`));
    const agents = sockets.map((path) => createServer().listen(path));
    try {
      world.model.when(prompt('hello')).says('Hello.');
      const { session } = await world.fairlead.json<{ session: Session }>(['new', 'hello'], {
        cwd: world.repository.folder,
        env: { SSH_AUTH_SOCK: sockets[0] ?? '' },
      });
      await world.finished(session.id);
      const pid = await agentPid(world.fairlead, session.id);
      const link = /SSH_AUTH_SOCK=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1] ?? '';
      expect(readlinkSync(link)).toBe(sockets[0]);
      await world.fairlead.json(['status'], { env: { SSH_AUTH_SOCK: sockets[1] ?? '' } });
      expect(readlinkSync(link)).toBe(sockets[1]);
      // One that brings a dead agent, or none, changes nothing.
      await world.fairlead.json(['status'], { env: { SSH_AUTH_SOCK: join(root, 'gone.sock') } });
      expect(readlinkSync(link)).toBe(sockets[1]);
    } finally {
      for (const agent of agents) agent.close();
    }
  });

  it('keeps its secrets out of every log and every command line', async () => {
    const secrets = { MY_TOKEN: 'tok-Zm9vYmFyYmF6', ANTHROPIC_API_KEY: SCRIPTED_KEY };
    await using world = await World.open({ env: secrets });
    world.model.when(prompt('hello')).says('Hello.');
    // A remote with a password in its address, which git repeats in what it says.
    world.repository.withRemote();
    world.repository.git('remote', 'set-url', 'origin', 'http://me:hunter2-secret@127.0.0.1:1/x.git');
    const session = await world.start('hello');
    await world.finished(session.id);
    await world.fairlead.run(['show', 'nobody']);
    await world.fairlead.killSidecar();
    await world.fairlead.show(session.id);
    const everySecret = [...Object.values(secrets), 'hunter2-secret'];
    const logs = join(world.fairlead.home, 'logs');
    for (const name of readdirSync(logs)) {
      const text = readFileSync(join(logs, name), 'utf8');
      expect([name, everySecret.filter((secret) => text.includes(secret))]).toEqual([name, []]);
    }
    for (const pid of processesOf(world.fairlead.home)) {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      expect(everySecret.filter((secret) => command.includes(secret))).toEqual([]);
    }
  });
});

describe('a remote that wants a password', { timeout: TIMEOUT }, () => {
  /** A world whose `main` follows a private remote that is one commit ahead. */
  async function withPrivateRemote() {
    const world = await World.open();
    const { repository } = world;
    const bare = repository.withRemote();
    const other = repository.clone();
    const ahead = other.commit({ 'news.md': 'news\n' }, 'News');
    other.git('push', '--quiet');
    const remote = await PrivateRemote.serve(repository.root, basename(bare.folder), 'open sesame');
    repository.git('remote', 'set-url', 'origin', remote.url);
    await world.fairlead.json(['up']);
    return { world, remote, ahead };
  }

  it('asks the client that can answer, and works with what it says', async () => {
    const { world, remote, ahead } = await withPrivateRemote();
    await using _world = world;
    await using _remote = remote;
    const asked: [string, boolean][] = [];
    using _client = await TestClient.connect(world.fairlead.home, {
      answers: (question, secret) => {
        asked.push([question, secret]);
        return question.startsWith('Username') ? 'ada' : 'open sesame';
      },
    });
    const made = await world.json<{ session: Session; notes: string[] }>('new', '--no-start', 'x');
    expect(made.notes).toEqual([]);
    expect(world.repository.at(made.session.worktree).tip()).toBe(ahead);
    expect(asked.map(([question, secret]) => [question.split(' ')[0], secret])).toEqual([
      ['Username', false],
      ['Password', true],
    ]);
  });

  it('is passed over when nobody is there, declines, or leaves', async () => {
    const { world, remote } = await withPrivateRemote();
    await using _world = world;
    await using _remote = remote;
    const before = world.repository.tip('main');
    const start = async () => {
      const made = await world.json<{ session: Session; notes: string[] }>('new', '--no-start', 'x');
      expect(made.notes).toEqual([expect.stringContaining('asks you to sign in')]);
      expect(world.repository.at(made.session.worktree).tip()).toBe(before);
    };
    await start();
    {
      using _declining = await TestClient.connect(world.fairlead.home, { answers: () => null });
      await start();
    }
    const leaving = await TestClient.connect(world.fairlead.home, {
      answers: () => {
        leaving.socket.destroy();
        return null;
      },
    });
    await start();
    expect(remote.tried.every((password) => password === '')).toBe(true);
  });

  it('is no longer asked for once nobody waits for the answer', async () => {
    const { world, remote } = await withPrivateRemote();
    await using _world = world;
    await using _remote = remote;
    const { fairlead, repository } = world;
    const { session } = await world.json<{ session: Session }>('new', '--no-start', 'x');
    using person = CommandTerminal.run(fairlead, ['events', '--follow'], { cwd: repository.folder });
    await person.shows(session.id);
    const asking = spawn(process.execPath, [fairlead.program, 'new', '--no-start', 'x'], {
      cwd: repository.folder,
      env: fairlead.environment,
      stdio: 'ignore',
    });
    await person.shows('Username for');
    person.type('ada\r');
    await person.shows('Password for');
    person.type('open ses');
    asking.kill('SIGINT');
    await person.shows('This is no longer asked.');
    // The hand does not stop at once.
    person.type('quark');
    await new Promise((resolve) => setTimeout(resolve, 300));
    person.type('lock\r');
    expect(person.text).toContain("Username for 'http://");
    await world.json('archive', session.id);
    await person.shows('session-archived');
    for (const part of ['open ses', 'quark', 'lock']) expect(person.output).not.toContain(part);
  });

  it('is not asked for by a stranger: the askpass program needs the token of the sidecar', async () => {
    await using fairlead = new SidecarHarness(PLAIN);
    await fairlead.json(['up']);
    const asked: string[] = [];
    using _client = await TestClient.connect(fairlead.home, {
      answers: (question) => {
        asked.push(question);
        return 'secret';
      },
    });
    const answer = await fairlead.run(['askpass', 'Password for evil:'], {
      env: { FAIRLEAD_ASKPASS_TOKEN: 'guessed' },
    });
    expect([answer.code, answer.stdout, asked]).toEqual([1, '', []]);
  });
});
