import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const START = join(import.meta.dirname, '../../scripts/start.mjs');

it('npm start says what it takes when it is asked for something else, before it does anything', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [START, '--nope'], { encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(/^Unknown option '--nope'\.\nUsage: npm start -- \[--once\]/);
  expect(stderr.trimEnd().split('\n')).toHaveLength(2);
});
