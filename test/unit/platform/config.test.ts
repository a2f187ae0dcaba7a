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
} from '../../../sidecar/platform/config.ts';

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
    expect(() => readConfig(folder)).toThrow(/cannot be used: EISDIR/);
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
    ['agent = "claude"\n', '[agent]: '],
  ])('names what is wrong with %j', (text, words) => {
    expect(fault(text)).toContain(`config.toml cannot be used: ${words}`);
  });

  it("of the person wins over the repository's, key by key", () => {
    const person = parseConfig('[agent]\nmode = "plan"\n[land]\nto = "local"\n', 'x');
    const shared = parseConfig(
      '[agent]\nmode = "acceptEdits"\nmodel = "opus"\n[branch]\nprefix = "x/"\n',
      'x',
    );
    expect(joinConfigs(person, shared)).toEqual({
      branch: { prefix: 'x/' },
      worktree: {},
      agent: { mode: 'plan', model: 'opus' },
      land: { to: 'local' },
    });
  });

  it('of a repository makes nothing run, and cannot choose that nobody is asked', () => {
    const shared = parseConfig('[agent]\ncommand = "evil"\n[land]\ncheck = "evil"\nmethod = "merge"\n', 'x');
    expect(joinConfigs(EMPTY_CONFIG, shared)).toMatchObject({ agent: {}, land: { method: 'merge' } });
    expect(JSON.stringify(joinConfigs(EMPTY_CONFIG, shared))).not.toContain('evil');
    expect(shared.agent.command).toBe('evil');

    const file = join(folder, 'config.toml');
    writeFileSync(file, '[agent]\nmode = "bypassPermissions"\n');
    expect(readConfig(file).agent.mode).toBe('bypassPermissions');
    expect(() => readRepositoryConfig(file)).toThrow(expect.objectContaining({ code: 'config.invalid' }));
    writeFileSync(file, '[agent]\nmode = "acceptEdits"\n');
    expect(readRepositoryConfig(file).agent.mode).toBe('acceptEdits');
  });
});
