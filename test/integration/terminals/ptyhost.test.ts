import { execFileSync, fork, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isAlive } from '../../../sidecar/platform/processes.ts';
import { FrameDecoder, FrameType, jsonFrame } from '../../../sidecar/protocol/ptywire.ts';
import { PtyHostClient } from '../../../sidecar/terminals/ptyhost-client.ts';
import { eventsOf, PtyHostHarness, shell, Watched } from '../../support/ptyhost.ts';

const harnesses: PtyHostHarness[] = [];
function harness(): PtyHostHarness {
  const made = new PtyHostHarness();
  harnesses.push(made);
  return made;
}
afterEach(async () => {
  for (const made of harnesses.splice(0)) await made.end();
});

const until = <T>(check: () => T | Promise<T>) => vi.waitFor(check, { timeout: 20_000, interval: 10 });

async function exitOf(client: PtyHostClient, id: string) {
  return await until(async () => {
    const { terminals } = await client.request('list', {});
    const exited = terminals.find((terminal) => terminal.id === id)?.exited;
    expect(exited).toBeDefined();
    return { exitCode: exited?.exitCode, signal: exited?.signal };
  });
}

async function screenOf(client: PtyHostClient, id: string): Promise<string> {
  return (await client.request('screen', { id })).text.join('\n').trimEnd();
}

/** Whether a process runs; a zombie does not. */
function runs(pid: number): boolean {
  try {
    return !/^State:\s*[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('programs in the ptyhost', () => {
  it('lose nothing of a burst before they exit, and their exit comes last', async () => {
    const home = harness();
    const client = await home.client();
    const create = shell('read go; seq 1 200000; exit 3');
    await client.request('create', create);
    const watched = new Watched(await home.attach(client, create.id));
    watched.attachment.write('\n');
    await until(() => expect(watched.exit).toEqual({ exitCode: 3, signal: null }));
    const numbers = watched.text.match(/^\d+(?=\r$)/gm) ?? [];
    expect(numbers.length).toBe(200_000);
    expect(numbers[199_999]).toBe('200000');
    expect(watched.snapshots.map((snapshot) => snapshot.reason)).toEqual(['attach']);
  });

  it('lose nothing either when nobody reads while they exit', async () => {
    const home = harness();
    const client = await home.client();
    const create = shell(
      'read go; i=0; while [ $i -lt 20 ]; do printf "%04000d\\n" $i; i=$((i+1)); done; exit 0',
    );
    await client.request('create', create);
    const attachment = await home.attach(client, create.id, { manualAck: true, window: 5_000 });
    const watched = new Watched(attachment);
    attachment.write('\n');
    await exitOf(client, create.id);
    expect(watched.exit).toBeUndefined();
    const timer = setInterval(() => attachment.processed(attachment.position), 5);
    await until(() => expect(watched.exit).toEqual({ exitCode: 0, signal: null }));
    clearInterval(timer);
    expect(watched.text.match(/^0+\d+(?=\r$)/gm)?.length).toBe(20);
  });

  it('tell exit code and signal apart', async () => {
    const client = await harness().client();
    const cases = [
      ['exit 0', { exitCode: 0, signal: null }],
      ['exit 77', { exitCode: 77, signal: null }],
      ['kill -9 $$', { exitCode: null, signal: 'SIGKILL' }],
      ['kill -TERM $$', { exitCode: null, signal: 'SIGTERM' }],
    ] as const;
    for (const [script, exit] of cases) {
      const create = shell(script);
      await client.request('create', create);
      expect(await exitOf(client, create.id)).toEqual(exit);
    }
  });

  it('get exactly the environment they were given, with TERM and COLORTERM unless given', async () => {
    const client = await harness().client();
    const first = shell('', { argv: ['env'], env: { PATH: '/usr/bin:/bin', A: 'b c' } });
    const second = shell('', { argv: ['env'], env: { PATH: '/usr/bin:/bin', TERM: 'vt100', COLORTERM: '' } });
    await client.request('create', first);
    await client.request('create', second);
    await exitOf(client, first.id);
    await exitOf(client, second.id);
    expect((await screenOf(client, first.id)).split('\n').sort()).toEqual([
      'A=b c',
      'COLORTERM=truecolor',
      'PATH=/usr/bin:/bin',
      'TERM=xterm-256color',
    ]);
    expect((await screenOf(client, second.id)).split('\n').sort()).toEqual([
      'COLORTERM=',
      'PATH=/usr/bin:/bin',
      'TERM=vt100',
    ]);
  });

  it('inherit no file descriptor of the host, however many it has open', async () => {
    const home = harness();
    const client = await home.client();
    const others = Array.from({ length: 12 }, () => shell('read x'));
    const idle = await Promise.all(Array.from({ length: 12 }, () => home.socket()));
    for (const other of others) await client.request('create', other);
    const open = () => readdirSync(`/proc/${client.host.pid}/fd`).length;
    const before = open();
    for (const socket of idle) socket.destroy();
    // The masters of the other terminals now lie behind a gap in the numbers.
    await until(() => expect(open()).toBeLessThanOrEqual(before - idle.length));
    const create = shell('ls /proc/self/fd');
    await client.request('create', create);
    await exitOf(client, create.id);
    expect((await screenOf(client, create.id)).split(/\s+/)).toEqual(['0', '1', '2', '3']);
  });

  it('are refused when folder or program are not there, and nothing is left of the attempt', async () => {
    const client = await harness().client();
    const refused = expect.objectContaining({ code: 'terminal.refused' });
    await expect(client.request('create', shell('true', { cwd: '/does/not/exist' }))).rejects.toEqual(
      refused,
    );
    await expect(client.request('create', shell('', { argv: ['no-such-program'] }))).rejects.toEqual(refused);
    expect((await client.request('list', {})).terminals).toEqual([]);
  });

  it('are made once, however often they are asked for', async () => {
    const client = await harness().client();
    const create = shell('sleep 60');
    const first = await client.request('create', create);
    const second = await client.request('create', { ...create, argv: ['something', 'else'] });
    expect([first.created, second.created]).toEqual([true, false]);
    expect(second.terminal.pid).toBe(first.terminal.pid);
  });

  it('end with everything they started, also what ignores SIGTERM or made a session of its own', async () => {
    const client = await harness().client();
    const create = shell(
      'trap "" TERM; sh -c "trap \\"\\" TERM; while :; do sleep 1; done" & setsid sh -c "trap \\"\\" TERM; while :; do sleep 1; done" & echo pids $$ $!; while :; do sleep 1; done',
    );
    const { terminal } = await client.request('create', create);
    await until(async () => expect(await screenOf(client, create.id)).toMatch(/pids \d+ \d+/));
    const tree = () =>
      execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
        .trim()
        .split('\n')
        .map((line) => line.trim().split(/\s+/).map(Number));
    const pids = new Set([terminal.pid]);
    for (let round = 0; round < 4; round += 1) {
      for (const [pid = 0, parent = 0] of tree()) if (pids.has(parent)) pids.add(pid);
    }
    expect(pids.size).toBeGreaterThanOrEqual(3);
    await client.request('kill', { id: create.id, graceMs: 200 });
    expect(await exitOf(client, create.id)).toEqual({ exitCode: null, signal: 'SIGKILL' });
    await until(() => expect([...pids].filter(runs)).toEqual([]));
  });

  it('that are stopped by ^Z end all the same', async () => {
    const client = await harness().client();
    const create = shell('kill -STOP $$; echo went on');
    const { terminal } = await client.request('create', create);
    await until(() => expect(readFileSync(`/proc/${terminal.pid}/status`, 'utf8')).toMatch(/State:\s*T/));
    await client.request('kill', { id: create.id, graceMs: 5_000 });
    expect(await exitOf(client, create.id)).toEqual({ exitCode: null, signal: 'SIGTERM' });
  });

  it('are forgotten only after their end', async () => {
    const home = harness();
    const client = await home.client();
    const create = shell('read x; echo bye');
    await client.request('create', create);
    await expect(client.request('forget', { id: create.id })).rejects.toMatchObject({
      code: 'terminal.running',
    });
    await client.request('write', { id: create.id, data: '\n' });
    await exitOf(client, create.id);
    await client.request('forget', { id: create.id });
    await client.request('forget', { id: create.id });
    await expect(client.request('screen', { id: create.id })).rejects.toMatchObject({
      code: 'terminal.gone',
    });
    expect(existsSync(join(home.paths.scrollback, create.id))).toBe(false);
  });

  it('take input of any size from a program that reads slowly', async () => {
    const client = await harness().client();
    const create = shell('stty raw -echo; echo ready; sleep 0.2; head -c 300000 | cksum');
    await client.request('create', create);
    await until(async () => expect(await screenOf(client, create.id)).toContain('ready'));
    const text = 'x'.repeat(300_000);
    await client.request('write', { id: create.id, data: text });
    await exitOf(client, create.id);
    const expected = execFileSync('cksum', { input: text, encoding: 'utf8' }).trim();
    expect(await screenOf(client, create.id)).toContain(expected);
  });
});

describe('what a program says about itself', () => {
  it('reaches the control client as reports, and nobody as output', async () => {
    const home = harness();
    const client = await home.client();
    const events = eventsOf(client);
    await client.request('subscribe', {});
    const msg = Buffer.from('approve Bash: ls').toString('base64');
    const create = shell(
      `read go; printf 'a\\033]7501;state=working:app=claude-code\\033\\\\b\\033]7501;state=blocked:app=claude-code:kind=permission:msg=${msg}\\007c\\033]7501;state=working:id=child\\007\\033]0;a title\\007\\007'; read x`,
    );
    await client.request('create', create);
    const watched = new Watched(await home.attach(client, create.id));
    watched.attachment.write('\n');
    await until(() => expect(watched.text).toContain('abc'));
    expect(watched.text).not.toContain('7501');
    await until(() => expect(events.map((event) => event.event)).toContain('activity'));
    expect(events.filter((event) => event.event === 'status').map((event) => event.status)).toMatchObject([
      { state: 'working', app: 'claude-code' },
      { state: 'blocked', kind: 'permission', msg: 'approve Bash: ls' },
      { state: 'working', id: 'child' },
    ]);
    const [info] = (await client.request('list', {})).terminals;
    expect(info).toMatchObject({
      title: 'a title',
      status: [{ state: 'blocked' }, { state: 'working', id: 'child' }],
    });
    expect(events.map((event) => event.event)).toEqual(expect.arrayContaining(['title', 'bell']));
  });

  it('is asked for by a query that the host answers, watched or not', async () => {
    const home = harness();
    const client = await home.client();
    const ask = "stty raw -echo; printf '\\033]7501;?\\033\\\\'; head -c 10 | od -An -c";
    const alone = shell(ask);
    await client.request('create', alone);
    await exitOf(client, alone.id);
    expect(await screenOf(client, alone.id)).toContain('033   ]   7   5   0   1   ;   ?');
    const watchedOne = shell(`read go; ${ask}`);
    await client.request('create', watchedOne);
    const watched = new Watched(await home.attach(client, watchedOne.id));
    watched.attachment.write('\n');
    await until(() => expect(watched.exit).toBeDefined());
    expect(watched.text).toContain('033   ]   7   5   0   1   ;   ?');
  });
});

describe('terminal queries', () => {
  const ask = `stty raw -echo min 0 time 3; printf '\\033[c\\033[6n\\033]11;?\\007'; cat -v`;

  it('are answered by the host while nobody is attached', async () => {
    const client = await harness().client();
    const create = shell(ask);
    await client.request('create', create);
    await exitOf(client, create.id);
    const screen = await screenOf(client, create.id);
    expect(screen).toContain('^[[?1;2c');
    expect(screen).toContain('^[[1;1R');
    expect(screen).toContain('^[]11;rgb:');
  });

  it('are left to a client that answers, and answered for one that does not', async () => {
    const home = harness();
    const client = await home.client();
    for (const answersQueries of [true, false]) {
      const create = shell(`read go; ${ask}`);
      await client.request('create', create);
      const watched = new Watched(await home.attach(client, create.id, { answersQueries }));
      watched.attachment.write('\n');
      await until(() => expect(watched.exit).toBeDefined());
      expect(watched.text.includes('^[[?1;2c')).toBe(!answersQueries);
    }
  });
});

describe('the ptyhost as a daemon', () => {
  it('is started once by eight processes that want it at the same time, round after round', async () => {
    const home = harness();
    const script = join(import.meta.dirname, 'connect-once.ts');
    for (let round = 0; round < 2; round += 1) {
      const pids = await Promise.all(
        Array.from(
          { length: 8 },
          () =>
            new Promise<number>((resolve, reject) => {
              const child = fork(script, [home.home], {
                stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
                execArgv: [],
              });
              child.once('message', (pid) => resolve(Number(pid)));
              child.once('exit', (code) => reject(new Error(`ended with ${code}`)));
            }),
        ),
      );
      expect(new Set(pids).size).toBe(1);
      // The next round finds its socket dead.
      process.kill(pids[0] ?? 0, 'SIGKILL');
      await until(() => expect(runs(pids[0] ?? 0)).toBe(false));
      expect(existsSync(home.paths.ptyhostSocket)).toBe(true);
    }
  }, 120_000);

  it('keeps socket and folders to this user', async () => {
    const home = harness();
    await home.client();
    expect(statSync(home.paths.ptyhostSocket).mode & 0o777).toBe(0o600);
    expect(statSync(home.paths.run).mode & 0o777).toBe(0o700);
  });

  it('ends by itself when idle, and leaves neither socket nor scrollback', async () => {
    const home = harness();
    const client = await home.client({ idleMs: 2_000 });
    const create = shell('read x');
    await client.request('create', create);
    client.close();
    // Alone with a program that lives it stays.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(isAlive(client.host.pid)).toBe(true);
    const again = await home.client();
    expect(again.host.instance).toBe(client.host.instance);
    await again.request('write', { id: create.id, data: '\n' });
    await exitOf(again, create.id);
    again.close();
    await until(() => expect(runs(client.host.pid)).toBe(false));
    expect(existsSync(home.paths.ptyhostSocket)).toBe(false);
    expect(readdirSync(home.paths.scrollback)).toEqual([]);
  });

  it('ends in order at SIGTERM: its programs get SIGHUP, those that ignore it SIGKILL', async () => {
    const home = harness();
    const client = await home.client();
    const events = eventsOf(client);
    await client.request('subscribe', {});
    const mark = join(home.home, 'hup');
    const polite = shell(`trap 'echo hup > ${mark}; exit 0' HUP; echo ready; while :; do sleep 0.05; done`);
    const stubborn = shell(`trap '' HUP; echo ready; while :; do sleep 0.05; done`);
    const pids: number[] = [];
    for (const create of [polite, stubborn]) {
      pids.push((await client.request('create', create)).terminal.pid);
      await until(async () => expect(await screenOf(client, create.id)).toBe('ready'));
    }
    process.kill(client.host.pid, 'SIGTERM');
    await until(() => expect([client.host.pid, ...pids].filter(runs)).toEqual([]));
    expect(readFileSync(mark, 'utf8')).toBe('hup\n');
    const told = events.filter((event) => event.event !== 'activity');
    expect(told).toMatchObject([
      { event: 'shutdown', reason: 'asked' },
      { event: 'exit' },
      { event: 'exit' },
    ]);
    expect(existsSync(home.paths.ptyhostSocket)).toBe(false);
    await until(() => expect(client.lost).toBe(true));
  });

  it('does not notice a control client that is killed', async () => {
    const home = harness();
    const script = join(import.meta.dirname, 'create-and-wait.ts');
    const id = randomUUID();
    const child = spawn(process.execPath, [script, home.home, id], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pid = await new Promise<number>((resolve) =>
      child.stdout.once('data', (text) => resolve(Number(text))),
    );
    const client = await home.client();
    const watched = new Watched(await home.attach(client, id));
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    watched.attachment.write('hello\n');
    await until(() => expect(watched.text).toContain('got hello'));
    const [info] = (await client.request('list', {})).terminals;
    expect(info).toMatchObject({ id, pid, clients: 1 });
  });

  it('makes its socket again when somebody removes it', async () => {
    const home = harness();
    const client = await home.client();
    rmSync(home.paths.ptyhostSocket);
    await until(() => expect(existsSync(home.paths.ptyhostSocket)).toBe(true));
    const again = await home.client();
    expect(again.host.instance).toBe(client.host.instance);
  });

  it('replaces a socket file behind which nobody listens', async () => {
    const home = harness();
    const client = await home.client();
    process.kill(client.host.pid, 'SIGKILL');
    await until(() => expect(client.lost).toBe(true));
    writeFileSync(`${home.paths.ptyhostSocket}.note`, '');
    const again = await home.client();
    expect(again.host.pid).not.toBe(client.host.pid);
    expect((await again.request('list', {})).terminals).toEqual([]);
  });

  it('reports what kept it from starting', async () => {
    const home = harness();
    const { connectOrStart } = await import('../../../sidecar/platform/daemon-process.ts');
    const output = join(home.home, 'out');
    const attempt = connectOrStart({
      name: 'ptyhost',
      socket: join(home.home, 'no.sock'),
      lock: join(home.home, 'no.lock'),
      output,
      command: async () => ({
        file: process.execPath,
        args: ['-e', 'console.error("boom"); process.exit(9)'],
        env: {},
      }),
    });
    await expect(attempt).rejects.toMatchObject({
      code: 'daemon.spawn-failed',
      message: expect.stringMatching(/exit code 9[\s\S]*boom/),
    });
  });
});

describe('clients of other versions', () => {
  it('are answered a typed error for a frame or request that the host does not know, and go on', async () => {
    const home = harness();
    const client = await home.client();
    const socket = await home.socket();
    const decoder = new FrameDecoder();
    const frames: { type: number; json: unknown }[] = [];
    socket.on('data', (chunk) => {
      for (const { type, payload } of decoder.push(chunk))
        frames.push({ type, json: JSON.parse(payload.toString()) });
    });
    socket.write(jsonFrame(FrameType.hello, { versions: [1, 2], client: 'future', more: true }));
    socket.write(jsonFrame(0x2a, { something: 'new' }));
    socket.write(jsonFrame(FrameType.request, { id: 1, method: 'teleport', params: {} }));
    socket.write(jsonFrame(FrameType.request, { id: 2, method: 'list', params: { fancy: 1 }, trace: 'x' }));
    socket.write(jsonFrame(FrameType.request, { id: 3, method: 'screen', params: { id: 5 } }));
    await until(() => expect(frames.length).toBe(5));
    expect(frames).toMatchObject([
      { type: FrameType.hello, json: { version: 1, pid: client.host.pid } },
      { type: FrameType.fault, json: { code: 'ptyhost.unsupported', about: '42' } },
      {
        type: FrameType.response,
        json: { id: 1, error: { code: 'ptyhost.unsupported', about: 'teleport' } },
      },
      { type: FrameType.response, json: { id: 2, result: { terminals: [] } } },
      { type: FrameType.response, json: { id: 3, error: { code: 'params.invalid' } } },
    ]);
  });

  it('are told when there is no common version', async () => {
    const home = harness();
    await home.client();
    const socket = await home.socket();
    const decoder = new FrameDecoder();
    const faults: unknown[] = [];
    socket.on('data', (chunk) => {
      for (const { payload } of decoder.push(chunk)) faults.push(JSON.parse(payload.toString()));
    });
    socket.write(jsonFrame(FrameType.hello, { versions: [7], client: 'future' }));
    await new Promise((resolve) => socket.once('close', resolve));
    expect(faults).toMatchObject([{ code: 'client.too-new' }]);
  });

  it('cannot hurt the host with garbage', async () => {
    const home = harness();
    const client = await home.client();
    for (const bytes of [
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.alloc(64, 0xff),
      jsonFrame(FrameType.hello, { versions: 'x' }),
      jsonFrame(FrameType.attach, {}),
    ]) {
      const socket = await home.socket();
      socket.resume();
      socket.end(bytes);
      await new Promise((resolve) => socket.once('close', resolve));
    }
    expect((await client.request('list', {})).terminals).toEqual([]);
  });

  it('find a lost connection out at once', async () => {
    const home = harness();
    const server = createServer((socket) => socket.once('data', () => socket.destroy()));
    const path = join(home.home, 's');
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const { tryConnect } = await import('../../../sidecar/platform/daemon-process.ts');
    const socket = await tryConnect(path);
    if (socket === undefined) throw new Error('not connected');
    await expect(PtyHostClient.open(socket, 'test')).rejects.toMatchObject({ code: 'ptyhost.lost' });
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('tickets', () => {
  it('open one terminal once, and not for ever', async () => {
    const home = harness();
    const client = await home.client();
    const create = shell('read x');
    await client.request('create', create);
    const { Attachment } = await import('../../../sidecar/protocol/attachment.ts');
    const open = async (ticket: string) =>
      await Attachment.open(await home.socket(), ticket, { client: 'test' });
    const refused = { code: 'terminal.ticket-refused' };
    const { ticket } = await client.request('ticket', { id: create.id });
    const attachment = await open(ticket);
    expect(attachment.terminal.id).toBe(create.id);
    await expect(open(ticket)).rejects.toMatchObject(refused);
    await expect(open('invented')).rejects.toMatchObject(refused);
    const late = await client.request('ticket', { id: create.id, ttlMs: 1 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await expect(open(late.ticket)).rejects.toMatchObject(refused);
  });
});
