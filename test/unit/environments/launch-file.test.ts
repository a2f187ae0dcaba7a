import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  LAUNCH_REFUSED,
  type Launch,
  launchFile,
  writeLaunchFile,
} from '../../../sidecar/environments/launch-file.ts';

/** Prints its folder, its environment and its arguments as JSON. */
const SHOW = `process.stdout.write(JSON.stringify({ cwd: process.cwd(), env: process.env, args: process.argv.slice(2) }))`;

describe('the launch file', () => {
  let root: string;
  let launch: Launch;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "fairlead launch ' "));
    const worktree = join(root, 'work tree');
    const gitDir = join(root, 'repo', '.git', 'worktrees', 'w');
    mkdirSync(join(worktree, 'packages', 'a b'), { recursive: true });
    mkdirSync(gitDir, { recursive: true });
    const show = join(root, 'show.cjs');
    writeFileSync(show, SHOW);
    const pointer = `gitdir: ${gitDir}`;
    writeFileSync(join(worktree, '.git'), `${pointer}\n`);
    launch = {
      worktree,
      gitDir,
      pointer,
      folder: '',
      environment: {},
      unset: [],
      argv: [process.execPath, show],
    };
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const run = (more: Partial<Launch> = {}, env: Record<string, string> = {}) => {
    const file = writeLaunchFile({ ...launch, ...more });
    return spawnSync('/bin/sh', [file], {
      cwd: '/',
      env: { PATH: process.env.PATH ?? '', ...env },
      encoding: 'utf8',
    });
  };
  const shown = (more: Partial<Launch> = {}, env: Record<string, string> = {}) => {
    const result = run(more, env);
    expect(result.stderr).toBe('');
    return JSON.parse(result.stdout) as { cwd: string; env: Record<string, string>; args: string[] };
  };

  it('starts the agent in the worktree or in its folder there', () => {
    expect(shown().cwd).toBe(launch.worktree);
    expect(shown({ folder: 'packages/a b' }).cwd).toBe(join(launch.worktree, 'packages', 'a b'));
  });

  it('gives every argument and variable as it is, whatever it holds', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 40 }).map((each) => each.replaceAll('\0', ''));
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), text, (args, value) => {
        const { args: got, env } = shown({
          argv: [...launch.argv, ...args],
          environment: { MY_VALUE: value },
        });
        expect([got, env.MY_VALUE]).toEqual([args, value]);
      }),
      { numRuns: 25 },
    );
    const hard = ['$(touch x)', '`id`', "it's", '"', '\\', 'a\nb', '-n', '', '*', '~', 'é🎉', "'\\''"];
    expect(shown({ argv: [...launch.argv, ...hard] }).args).toEqual(hard);
  });

  it('takes variables away and sets others', () => {
    const { env } = shown(
      { unset: ['BAD', 'ALSO_BAD'], environment: { GOOD: '1' } },
      { BAD: 'x', KEPT: 'y' },
    );
    expect(env).toMatchObject({ GOOD: '1', KEPT: 'y' });
    expect(env).not.toHaveProperty('BAD');
  });

  it('passes on how the agent ended', () => {
    expect(run({ argv: ['/bin/sh', '-c', 'exit 7'] }).status).toBe(7);
    expect(run({ argv: ['/bin/sh', '-c', 'kill -TERM $$'] }).signal).toBe('SIGTERM');
  });

  it.each([
    ['the worktree is gone', () => rmSync(launch.worktree, { recursive: true }), /the worktree .* is gone/],
    [
      'its .git file is gone',
      () => rmSync(join(launch.worktree, '.git')),
      /does not point to its repository/,
    ],
    [
      'its .git file points elsewhere',
      () => writeFileSync(join(launch.worktree, '.git'), 'gitdir: /elsewhere\n'),
      /does not point to its repository/,
    ],
    [
      'its .git is a folder',
      () => {
        rmSync(join(launch.worktree, '.git'));
        mkdirSync(join(launch.worktree, '.git'));
      },
      /does not point to its repository/,
    ],
  ])('starts nothing when %s', (_what, damage, why) => {
    damage();
    const result = run();
    expect([result.status, result.stdout]).toEqual([LAUNCH_REFUSED, '']);
    expect(result.stderr).toMatch(/^Fairlead: /);
    expect(result.stderr).toMatch(why);
  });

  it('starts nothing when its folder in the worktree is gone', () => {
    const result = run({ folder: 'no/such' });
    expect([result.status, result.stdout]).toEqual([LAUNCH_REFUSED, '']);
  });

  it('is whole, for its owner alone, and the only file that is left', () => {
    const file = writeLaunchFile(launch);
    expect(file).toBe(launchFile(launch.gitDir));
    chmodSync(file, 0o755);
    writeLaunchFile({ ...launch, environment: { SECOND: '1' } });
    expect(statSync(file).mode & 0o777).toBe(0o700);
    expect(readFileSync(file, 'utf8')).toContain('SECOND');
    expect(readdirSync(dirname(file))).toEqual(['launch']);
  });

  it('is not written through links', () => {
    const elsewhere = join(root, 'elsewhere');
    mkdirSync(elsewhere);
    const precious = join(elsewhere, 'precious');
    writeFileSync(precious, 'kept');
    const folder = dirname(launchFile(launch.gitDir));
    mkdirSync(folder);
    symlinkSync(precious, join(folder, `launch.${process.pid}`));
    symlinkSync(precious, join(folder, 'launch'));
    writeLaunchFile(launch);
    expect(readFileSync(precious, 'utf8')).toBe('kept');
    expect(lstatSync(launchFile(launch.gitDir)).isFile()).toBe(true);

    rmSync(folder, { recursive: true });
    symlinkSync(elsewhere, folder);
    expect(() => writeLaunchFile(launch)).toThrow(expect.objectContaining({ code: 'worktree.broken' }));
    expect(readdirSync(elsewhere)).toEqual(['precious']);
  });
});
