import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { quoteWord } from '../../../sidecar/platform/shell.ts';
import type { Finding, FleetEvent } from '../../../sidecar/protocol/protocol.ts';
import type { Session } from '../../../sidecar/protocol/session.ts';
import { CommandTerminal } from '../../support/command-terminal.ts';
import { TestRepository } from '../../support/repository.ts';
import { gone, SidecarHarness } from '../../support/sidecar.ts';

const TIMEOUT = 60_000;
const ESCAPE = '\u001b';

describe('the command line', { timeout: TIMEOUT }, () => {
  let repository: TestRepository;
  let fairlead: SidecarHarness;
  beforeAll(() => {
    repository = TestRepository.with();
    const programs = join(repository.root, 'programs');
    mkdirSync(programs);
    writeFileSync(join(programs, 'claude'), '#!/bin/sh\necho 9.9.9\n', { mode: 0o755 });
    fairlead = new SidecarHarness({
      ...repository.environment,
      PATH: `${programs}:${repository.environment.PATH}`,
    });
  });
  afterAll(async () => {
    await fairlead[Symbol.asyncDispose]();
    repository[Symbol.dispose]();
  });
  const run = (...args: string[]) => fairlead.run(args, { cwd: repository.folder });
  const session = async (...args: string[]) => {
    const made = await fairlead.json<{ session: Session }>(['new', '--no-start', ...args], {
      cwd: repository.folder,
    });
    return made.session;
  };

  it('works in a folder that is gone, and says so where it needs one', async () => {
    const standing = join(repository.root, 'standing');
    const there = (args: string, env: Record<string, string> = {}) => {
      mkdirSync(standing);
      const words = [process.execPath, fairlead.program].map(quoteWord).join(' ');
      return new Promise<{ code: number | null; text: string }>((resolve) => {
        const child = spawn('/bin/sh', ['-c', `rmdir "$PWD" && exec ${words} ${args}`], {
          cwd: standing,
          env: { ...fairlead.environment, PWD: standing, ...env },
        });
        let text = '';
        for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (text += part));
        child.once('close', (code) => resolve({ code, text }));
      });
    };
    expect(await there('ls')).toMatchObject({ code: 0 });
    const checked = await there('doctor');
    expect(checked.text).toContain('sidecar');
    expect(checked.text).not.toContain('repository');
    const made = await there('new x --no-start');
    expect(made).toMatchObject({
      code: 3,
      text: expect.stringContaining('The folder that you are in is gone.'),
    });
    const lost = await there('ls', { FAIRLEAD_HOME: 'relative' });
    expect(lost).toMatchObject({ code: 1, text: expect.stringContaining('FAIRLEAD_HOME is relative') });
  });

  it('prints exactly one JSON value with --json, wherever that stands, and nothing else', async () => {
    const { id } = await session('--title', 'One');
    repository.at((await fairlead.show(id)).worktree).commit({ 'a.txt': 'a\n' }, 'A');
    for (const args of [
      ['up'],
      ['status'],
      ['doctor'],
      ['ls'],
      ['ls', '--all'],
      ['show', id],
      ['log', id],
      ['log', id, '--turns'],
      ['diff', id],
      ['diff', id, '--stat'],
      ['queue'],
      ['queue', '--all'],
      ['cost'],
      ['cost', id, '--by', 'day'],
      ['rename', id, 'Another'],
      ['wait', id, '--timeout', '5'],
      ['land', id, '--to', 'local', '--yes'],
      ['archive', id],
      ['down'],
      ['down'],
    ]) {
      for (const placed of [[...args, '--json'], ...(args[0] === 'ls' ? [['--json', ...args]] : [])]) {
        const { stdout, stderr } = await run(...placed);
        expect([placed, stderr]).toEqual([placed, '']);
        expect(stdout.endsWith('\n')).toBe(true);
        expect(stdout.trimEnd().split('\n')).toHaveLength(1);
        expect(() => JSON.parse(stdout)).not.toThrow();
      }
    }
  });

  it('reports an error with --json as one JSON value on stderr, and as a sentence and a hint without', async () => {
    const told = await run('show', 'nobody');
    expect(told).toMatchObject({ code: 3, stdout: '' });
    expect(told.stderr).toMatch(/^error: There is no session "nobody"\.\nhint: {2}Run `fairlead ls`.*\n$/);
    const json = await run('show', 'nobody', '--json');
    expect(json).toMatchObject({ code: 3, stdout: '' });
    expect(JSON.parse(json.stderr)).toEqual({
      error: {
        code: 'session.missing',
        message: 'There is no session "nobody".',
        hint: expect.stringContaining('fairlead ls'),
      },
    });
  });

  it('explains every command and every option', async () => {
    const { stdout, code } = await run('--help');
    expect(code).toBe(0);
    const names = [...stdout.matchAll(/^ {2}([a-z]+)\b/gm)].map((match) => match[1] ?? '');
    const expected =
      'up down status doctor new ls show events send answer interrupt wait attach log diff land queue unqueue cost stop archive logs';
    expect(names).toEqual(expect.arrayContaining(expected.split(' ')));
    expect(names).not.toContain('askpass');
    for (const name of names.filter((each) => each !== 'help')) {
      const help = await run(name, '--help');
      expect([name, help.code]).toEqual([name, 0]);
      expect(help.stdout).toContain(`Usage: fairlead ${name}`);
      const lines = help.stdout.split('\n');
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
      if (name !== 'up')
        expect([name, help.stdout]).toEqual([name, expect.stringMatching(/\n {2}\$ fairlead /)]);
      if (help.stdout.includes('<session>')) expect(help.stdout).toMatch(/ its id, the beginning of it/);
      // Each option and argument has words behind it, on its line or the next.
      for (const [at, line] of lines.entries()) {
        const option = /^ {2}(-\S.*?|[a-z]+)(?: {2,}(\S.*))?$/.exec(line);
        if (option === null) continue;
        expect([name, option[1], option[2] ?? lines[at + 1]?.trim()]).toEqual([
          name,
          option[1],
          expect.stringMatching(/\w/),
        ]);
      }
    }
  });

  it('finds wrong usage before anything else, and says what could be meant', async () => {
    const result = await run('shwo');
    expect(result.code).toBe(2);
    expect(result.stderr).toBe(
      "error: Unknown command 'shwo'. Did you mean show?\nhint:  Run `fairlead --help`.\n",
    );
    expect((await run('bogus')).stderr).not.toContain('Did you mean');
    expect(await run('help', 'nope')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'error: There is no command "nope".\nhint:  Run `fairlead --help`.\n',
    });
    expect((await run('help', 'show')).stdout).toContain('Usage: fairlead show');
    for (const args of [['answer'], ['wait', 'x', '--timeout', 'y'], ['land', 'x', '--jsno'], ['show', '']]) {
      for (const json of [[], ['--json']]) {
        const wrong = await run(...args, ...json);
        expect([args, wrong.code]).toEqual([args, 2]);
        expect(wrong.stderr).toContain(
          args[1] === '' ? 'fairlead ls' : `Run \`fairlead ${args[0]} --help\`.`,
        );
      }
    }
    const helped = await run();
    expect(helped.stderr).toContain('Usage: fairlead');
    expect(helped.stderr).not.toContain('error:');
    expect((await run()).code).toBe(2);
    expect((await run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+ \(\w+\)\n$/);
  });

  it('says what is not there yet', async () => {
    await using empty = new SidecarHarness(fairlead.environment);
    const told = async (...args: string[]) => (await empty.run(args, { cwd: repository.folder })).stdout;
    expect(await told('status')).toContain('The sidecar does not run');
    expect(await told('ls')).toContain('fairlead new');
    expect(await told('queue')).toContain('Nothing is queued');
    expect(await told('cost')).toContain('Nothing was spent yet');
    const events = await empty.run(['events']);
    expect(events).toMatchObject({ code: 0, stdout: '' });
    expect(events.stderr).toContain('Nothing has happened yet');
    await using never = new SidecarHarness(fairlead.environment);
    expect((await never.run(['logs'])).stderr).toContain('There is no log yet');
    const file = join(never.home, 'logs', 'sidecar.log');
    expect(await never.json(['logs', '--path'])).toEqual({ file });
    expect((await never.run(['logs', '--path', '--ptyhost'])).stdout.trim()).toBe(
      join(never.home, 'logs', 'ptyhost.log'),
    );
  });

  it('keeps every row of a table in 80 columns, whatever a title holds', async () => {
    await session(`日本語の題名 ${'🎉 wide and long '.repeat(10)}`);
    await session(`\u001b[31mred\u001b[0m\u0007 and ${'x'.repeat(200)}`);
    using terminal = CommandTerminal.run(fairlead, ['ls'], { cwd: repository.folder, cols: 80 });
    expect(await terminal.ended).toBe(0);
    await terminal.shows('TITLE');
    const rows = terminal.text.split('\n').filter((row) => row !== '');
    const ids = (await fairlead.json<Session[]>(['ls'])).map(({ id }) => id);
    expect(rows).toHaveLength(ids.length + 1);
    expect(rows.slice(1).map((row) => row.split(' ')[0])).toEqual(ids);
    expect(rows.filter((row) => row.endsWith('…')).length).toBeGreaterThanOrEqual(2);
    expect(terminal.output).not.toContain('\u0007');
  });

  it('paints for people only: not into a pipe, nor where NO_COLOR is set', async () => {
    await session('Plain');
    for (const args of [['ls'], ['status'], ['doctor'], ['show', 'fairlead/plain'], ['show', 'nobody']]) {
      const { stdout, stderr } = await run(...args);
      expect([args, stdout + stderr]).not.toEqual([args, expect.stringContaining(ESCAPE)]);
    }
    using painted = CommandTerminal.run(fairlead, ['ls'], { cwd: repository.folder });
    await painted.ended;
    expect(painted.output).toContain(`${ESCAPE}[2msleeping`);
    using plain = CommandTerminal.run(fairlead, ['ls'], { cwd: repository.folder, env: { NO_COLOR: '1' } });
    await plain.ended;
    expect(plain.output).toContain('sleeping');
    expect(plain.output).not.toContain(`${ESCAPE}[2m`);
  });

  it('ends quietly when its reader has seen enough', async () => {
    await fairlead.json(['up']);
    appendFileSync(join(fairlead.home, 'logs', 'sidecar.log'), `${'{"filler":true}\n'.repeat(100_000)}`);
    const command = [process.execPath, fairlead.program, 'logs', '-n', '100000'].map(quoteWord).join(' ');
    const result = await new Promise<{ code: number | null; stderr: string; stdout: string }>((resolve) => {
      const child = spawn('/bin/bash', ['-o', 'pipefail', '-c', `${command} | head -n 1`], {
        env: fairlead.environment,
      });
      let stderr = '';
      let stdout = '';
      child.stderr.on('data', (text) => {
        stderr += text;
      });
      child.stdout.on('data', (text) => {
        stdout += text;
      });
      child.once('close', (code) => resolve({ code, stderr, stdout }));
    });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout.split('\n')).toHaveLength(2);
  });

  it('streams events as they happen, one JSON value a line, until it is interrupted', async () => {
    const child = spawn(process.execPath, [fairlead.program, 'events', '--follow', '--json'], {
      env: fairlead.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
    });
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const first = await session('First event');
    await expect.poll(() => text, { timeout: 10_000 }).toContain(first.id);
    const second = await session('Second event');
    await expect.poll(() => text, { timeout: 10_000 }).toContain(second.id);
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(stderr).toBe('');
    const events = text
      .trimEnd()
      .split('\n')
      .map((line): FleetEvent => JSON.parse(line));
    expect(events.map(({ seq }) => seq)).toEqual([...events.keys()].map((at) => (events[0]?.seq ?? 0) + at));
    const after = await fairlead.run(['events', '--json', '--after', String(events.at(-2)?.seq)]);
    expect(JSON.parse(after.stdout)).toEqual(events.at(-1));
  });

  it('says so when the sidecar ends under a stream', async () => {
    const pid = await fairlead.sidecarPid();
    const following = fairlead.run(['events', '--follow', '--json', '--after', '1000000']);
    // The command is another client; when the sidecar counts two, it follows.
    await expect
      .poll(async () => (await fairlead.json<{ sidecar: { clients: number } }>(['status'])).sidecar.clients, {
        timeout: 20_000,
      })
      .toBe(2);
    process.kill(pid, 'SIGTERM');
    await gone(pid);
    const { code, stderr } = await following;
    expect(code).toBe(1);
    expect(JSON.parse(stderr).error.code).toBe('daemon.lost');
  });

  it('shows the log as text, or as it is', async () => {
    await fairlead.json(['down']);
    await fairlead.json(['up']);
    const told = await run('logs', '-n', '1');
    expect(told.stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(told.stdout).toMatch(/^\d{4}-\d\d-\d\dT\S+ {2}info {3}sidecar serves {2}pid=\d+/);
    const json = await run('logs', '-n', '1', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ event: 'sidecar serves', source: 'sidecar' });
  });

  it('doctor says for each part whether it is well, and what to do where it is not', async () => {
    const findings = await fairlead.json<Finding[]>(['doctor'], { cwd: repository.folder });
    const checks = findings.map(({ check }) => check);
    for (const check of [
      'node',
      'sidecar',
      'ptyhost',
      'git',
      'identity',
      'repository',
      'claude',
      'disk',
      'home',
    ]) {
      expect(checks).toContain(check);
    }
    expect(findings.filter(({ state, hint }) => state !== 'ok' && !hint)).toEqual([]);

    const sick = await fairlead.run(['doctor', '--json'], {
      cwd: repository.root,
      env: { PATH: join(repository.root, 'nowhere'), GIT_CONFIG_GLOBAL: '/dev/null' },
    });
    expect(sick.code).toBe(1);
    const found = new Map((JSON.parse(sick.stdout) as Finding[]).map((each) => [each.check, each]));
    expect(found.get('git')).toMatchObject({
      state: 'problem',
      hint: expect.stringContaining('Install git'),
    });
    expect(found.get('claude')).toMatchObject({
      state: 'problem',
      hint: expect.stringMatching(/Install Claude Code: curl .*https:/),
    });
    const anonymous = await fairlead.run(['doctor', '--json'], {
      cwd: repository.root,
      env: { GIT_CONFIG_GLOBAL: '/dev/null' },
    });
    const identity = (JSON.parse(anonymous.stdout) as Finding[]).find(({ check }) => check === 'identity');
    expect(identity).toMatchObject({
      state: 'problem',
      hint: expect.stringContaining('git config --global'),
    });
  });

  it('doctor reads both configurations, and says where one is wrong and what does nothing', async () => {
    const told = async () => {
      const { stdout } = await run('doctor', '--json');
      return new Map((JSON.parse(stdout) as Finding[]).map((each) => [each.check, each]));
    };
    const own = join(fairlead.home, 'config.toml');
    const shared = join(repository.folder, '.fairlead', 'config.toml');
    expect((await told()).get('config')).toMatchObject({ state: 'ok', found: `none; yours would be ${own}` });
    expect((await told()).has('repo config')).toBe(false);
    try {
      writeFileSync(own, '[land]\ncheck = \n');
      repository.write({ '.fairlead/config.toml': '[land]\ncheck = "make"\n[agent]\nmode = "plan"\n' });
      const wrong = await told();
      expect(wrong.get('config')).toMatchObject({
        state: 'problem',
        found: expect.stringMatching(/config\.toml cannot be used: it is not TOML \(line 2, column \d+\)/),
        hint: expect.stringMatching(/\w/),
      });
      expect(wrong.get('repo config')).toMatchObject({
        state: 'warning',
        found: `${shared} sets [land] check, which does nothing there.`,
      });
      writeFileSync(own, `[repository."${repository.root}/nowhere".agent]\nmode = "plan"\n`);
      repository.write({ '.fairlead/config.toml': '[agent]\nmode = "bypassPermissions"\n' });
      const refused = await told();
      expect(refused.get('config')).toMatchObject({
        state: 'warning',
        found: expect.stringContaining('/nowhere, which is not there'),
      });
      expect(refused.get('repo config')).toMatchObject({
        state: 'problem',
        found: expect.stringContaining('bypassPermissions is refused'),
      });
    } finally {
      rmSync(own, { force: true });
      rmSync(shared, { force: true });
    }
  });

  it('doctor works where the sidecar cannot start, and says why', async () => {
    const home = join(repository.root, 'file');
    writeFileSync(home, '');
    const result = await fairlead.run(['doctor', '--json'], {
      cwd: repository.folder,
      env: { FAIRLEAD_HOME: join(home, 'below') },
    });
    expect(result.code).toBe(1);
    const found = new Map((JSON.parse(result.stdout) as Finding[]).map((each) => [each.check, each]));
    expect(found.get('sidecar')).toMatchObject({
      state: 'problem',
      found: expect.stringContaining('cannot write'),
      hint: expect.stringContaining('FAIRLEAD_HOME'),
    });
    for (const check of ['node', 'git', 'identity', 'repository', 'claude', 'disk']) {
      expect([check, found.get(check)?.state]).toEqual([check, expect.stringMatching(/ok|warning/)]);
    }
  });

  it('says what it does while new takes long', async () => {
    const hook = join(repository.root, 'slow-git');
    mkdirSync(hook);
    writeFileSync(
      join(hook, 'git'),
      `#!/bin/sh\ncase " $* " in *" worktree add "*) sleep 3;; esac\nPATH=\${PATH#*:} exec git "$@"\n`,
      { mode: 0o755 },
    );
    const result = await fairlead.run(['new', '--no-start', 'Slow'], {
      cwd: repository.folder,
      env: { PATH: `${hook}:${fairlead.environment.PATH}` },
    });
    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('Making branch and worktree');
  });
});
