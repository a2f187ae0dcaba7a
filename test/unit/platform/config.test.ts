import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  EMPTY_CONFIG,
  joinConfigs,
  parseConfig,
  readConfig,
  readRepositoryConfig,
  withoutEffect,
} from '../../../sidecar/platform/config.ts';
import { PermissionMode } from '../../../sidecar/protocol/session.ts';

describe('a configuration', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-config-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const fault = (text: string): string => {
    try {
      parseConfig(text, 'config.toml');
      return 'none';
    } catch (error) {
      expect(error).toMatchObject({ code: 'config.invalid', hint: expect.any(String) });
      return error instanceof Error ? error.message : '';
    }
  };

  it('is empty where there is no file, also below a file', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(readConfig(join(folder, 'none.toml'))).toEqual(EMPTY_CONFIG);
    expect(readConfig(join(folder, 'file', 'config.toml'))).toEqual(EMPTY_CONFIG);
    expect(parseConfig('', 'x')).toEqual(EMPTY_CONFIG);
  });

  it('that is a folder is an error', () => {
    expect(() => readConfig(folder)).toThrow(/cannot be used: .* is no regular file/);
  });

  it('takes every key that is documented', () => {
    const text = [
      '[branch]\nprefix = "me/fl/"',
      '[worktree]\nplace = "sibling"\ncopy = [".env", "!x"]',
      '[agent]\nmode = "plan"\nmodel = "opus"\ncommand = "/opt/claude"',
      '[land]\nto = "local"\nmethod = "squash"\ncheck = "make test"\ncheckMinutes = 5\nuncommitted = "refuse"',
    ].join('\n');
    expect(parseConfig(text, 'x')).toEqual({
      branch: { prefix: 'me/fl/' },
      worktree: { place: 'sibling', copy: ['.env', '!x'] },
      agent: { mode: 'plan', model: 'opus', command: '/opt/claude' },
      land: { to: 'local', method: 'squash', check: 'make test', checkMinutes: 5, uncommitted: 'refuse' },
      repository: {},
    });
  });

  it.each([
    ['a = ', 'it is not TOML (line 1, column 5)'],
    ['[wrktree]\n', '[wrktree] is not known'],
    ['[worktree]\nplaces = 1\n', '[worktree]: places is not known'],
    ['[worktree]\nplace = "moon"\n', '[worktree] place: it is one of home, sibling, inside'],
    ['[worktree]\ncopy = [1]\n', '[worktree] copy.0: '],
    ['[branch]\nprefix = "a b"\n', '[branch] prefix: letters, digits, dots, slashes and dashes'],
    ['[land]\ncheckMinutes = 0\n', '[land] checkMinutes: '],
    ['[land]\ncheckMinutes = 35792\n', '[land] checkMinutes: '],
    ['agent = "claude"\n', '[agent]: '],
    ['[repository."~/x".agent]\nmode = "plan"\n', '[repository] ~/x: '],
    ['[repository."/x".agent]\nmode = "moon"\n', '[repository] /x.agent.mode: it is one of acceptEdits, '],
    ['[repository."/x".agnt]\nmode = "plan"\n', '[repository] /x: agnt is not known'],
  ])('names what is wrong with %j', (text, words) => {
    expect(fault(text)).toContain(`config.toml cannot be used: ${words}`);
  });

  it("of the person wins over the repository's, key by key", () => {
    const person = parseConfig('[agent]\nmode = "plan"\n[land]\nto = "local"\n', 'x');
    const shared = parseConfig(
      '[agent]\nmode = "acceptEdits"\nmodel = "opus"\n[branch]\nprefix = "x/"\n',
      'x',
    );
    expect(joinConfigs(person, shared, '/src/demo')).toEqual({
      branch: { prefix: 'x/' },
      worktree: {},
      agent: { mode: 'plan', model: 'opus' },
      land: { to: 'local' },
      suggestedTarget: undefined,
    });
  });

  it('of the person for one repository wins over theirs for all', () => {
    const text = [
      '[agent]\nmode = "plan"\nmodel = "opus"',
      '[repository."/src/demo".agent]\nmode = "acceptEdits"',
      '[repository."/src/demo".land]\ncheck = "make test"',
    ].join('\n');
    const person = parseConfig(text, 'x');
    expect(joinConfigs(person, EMPTY_CONFIG, '/src/demo')).toMatchObject({
      agent: { mode: 'acceptEdits', model: 'opus' },
      land: { check: 'make test' },
    });
    expect(joinConfigs(person, EMPTY_CONFIG, '/src/other')).toMatchObject({
      agent: { mode: 'plan', model: 'opus' },
      land: {},
    });
  });

  it('of a repository suggests where to land, and does not decide it', () => {
    const shared = parseConfig('[land]\nto = "remote"\n', 'x');
    expect(joinConfigs(EMPTY_CONFIG, shared, '/src/demo')).toMatchObject({
      land: {},
      suggestedTarget: 'remote',
    });
  });

  it('of a repository may ask that nothing uncommitted lands, and not that it lands unasked', () => {
    const shared = (word: string) => parseConfig(`[land]\nuncommitted = "${word}"\n`, 'x');
    expect(joinConfigs(EMPTY_CONFIG, shared('commit'), '/src/demo').land).toEqual({});
    expect(joinConfigs(EMPTY_CONFIG, shared('refuse'), '/src/demo').land).toEqual({ uncommitted: 'refuse' });
    expect(withoutEffect(shared('commit'))).toEqual(['[land] uncommitted']);
    expect(withoutEffect(shared('refuse'))).toEqual([]);
  });

  it('of a repository makes nothing run', () => {
    const shared = parseConfig('[agent]\ncommand = "evil"\n[land]\ncheck = "evil"\nmethod = "merge"\n', 'x');
    expect(withoutEffect(shared)).toEqual(['[agent] command', '[land] check']);
    expect(joinConfigs(EMPTY_CONFIG, shared, '/src/demo')).toMatchObject({
      agent: {},
      land: { method: 'merge' },
    });
    expect(JSON.stringify(joinConfigs(EMPTY_CONFIG, shared, '/src/demo'))).not.toContain('evil');
    expect(shared.agent.command).toBe('evil');
  });

  it.each(PermissionMode.options)(
    'of a repository chooses %s only when that asks as much as usual',
    (mode) => {
      const file = join(folder, 'config.toml');
      writeFileSync(file, `[agent]\nmode = "${mode}"\n`);
      expect(readConfig(file).agent.mode).toBe(mode);
      const read = () => readRepositoryConfig(file).agent.mode;
      if (mode === 'manual' || mode === 'plan') expect(read()).toBe(mode);
      else expect(read).toThrow(expect.objectContaining({ code: 'config.invalid' }));
    },
  );

  it('of a repository says nothing of others', () => {
    const file = join(folder, 'config.toml');
    writeFileSync(file, `[repository."${folder}".agent]\nmode = "acceptEdits"\n`);
    expect(() => readRepositoryConfig(file)).toThrow('[repository] is not known');
  });
});
