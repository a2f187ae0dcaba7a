import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

it('a benchmark that there is not is refused before anything is installed, by the list of those there are', () => {
  const root = dirname(dirname(import.meta.dirname));
  const told = ['scripts/bench.mjs', 'test/bench/main.ts'].map((script) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, script), 'activate', 'nope'], {
      encoding: 'utf8',
      // Nothing that could be installed with is found.
      env: { ...process.env, PATH: '/nowhere' },
    });
    return { status, stdout, stderr };
  });
  expect(told[0]).toEqual({
    status: 2,
    stdout: '',
    stderr: expect.stringMatching(/^There is no benchmark nope; there are activate, .*\.\n$/),
  });
  expect(told[1]).toEqual(told[0]);
});
