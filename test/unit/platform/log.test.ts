import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../sidecar/platform/clock.ts';
import { fileLog, withoutSecrets } from '../../../sidecar/platform/log.ts';

describe('the log', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fairlead-log-'));
    file = join(folder, 'x.log');
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const lines = () =>
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));

  it('is one JSON object a line that only its owner reads', () => {
    const log = fileLog(file, 'test', systemClock);
    log.info('first', { n: 1n, list: [1] });
    log.debug('not worth it');
    log.error('second', { error: new Error('broken\nin two') });
    expect(lines()).toMatchObject([
      { level: 'info', source: 'test', event: 'first', n: 1, list: [1] },
      { level: 'error', event: 'second', error: 'broken\nin two' },
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('holds no value with the name or the shape of a secret, however deep', () => {
    fileLog(file, 'test', systemClock).warn('asked', {
      token: 'a1',
      nested: { ssh_passphrase: 'a2', list: [{ apiKey: 'a3' }] },
      error: new Error('fetch https://me:a4@host/x.git failed with sk-ant-api03-a5a5a5a5'),
      text: 'Authorization: Bearer a6a6a6a6a6, ghp_a7a7a7a7a7a7a7a7a7',
    });
    const text = readFileSync(file, 'utf8');
    expect(text).not.toMatch(/a[1-7]/);
    expect(text).toContain('https://[redacted]@host/x.git');
  });

  it('leaves what is no secret as it is', () => {
    for (const text of [
      'https://host/x.git',
      'git@host:x.git',
      'a@b.c',
      'http://host/a@b',
      'task-ant-farm',
    ]) {
      expect(withoutSecrets(text)).toBe(text);
    }
  });

  it('begins anew at eight megabytes and keeps the one before', () => {
    const log = fileLog(file, 'test', systemClock);
    const filler = 'x'.repeat(1024 * 1024);
    for (let at = 0; at < 10; at += 1) log.info(`line ${at}`, { filler });
    expect(statSync(`${file}.1`).size).toBeGreaterThan(8 * 1024 * 1024);
    expect(statSync(file).size).toBeLessThan(3 * 1024 * 1024);
    expect(lines().at(-1)).toMatchObject({ event: 'line 9' });
  });

  it('throws nothing where it cannot write', () => {
    const log = fileLog(join(folder, 'no', 'such', 'x.log'), 'test', systemClock);
    expect(() => log.error('lost')).not.toThrow();
  });
});
