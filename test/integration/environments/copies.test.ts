import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bringChanges, copyFiles, mayReach } from '../../../sidecar/environments/copies.ts';
import { TestRepository } from '../../support/repository.ts';

const IGNORE = '.env*\nCLAUDE.local.md\n.claude/settings.local.json\nnode_modules/\nsecrets/\n*.local\n';

async function copied(demo: TestRepository, lane: TestRepository, patterns?: string[]) {
  return copyFiles(await demo.open(), lane.folder, patterns);
}

describe('copies from the main checkout', () => {
  it('bring local settings at every level, and only those', async () => {
    using demo = TestRepository.with({ '.gitignore': IGNORE, 'packages/api/a.ts': 'a' });
    const lane = demo.worktree('lane');
    demo.write({
      '.env': 'A=1\n',
      'packages/api/.env.test': 'B=2\n',
      'CLAUDE.local.md': 'mine\n',
      '.claude/settings.local.json': '{}\n',
      'node_modules/x/.env': 'not this\n',
      'secrets/key': 'nor this\n',
    });
    const before = demo.status();
    expect(await copied(demo, lane)).toEqual([
      '.claude/settings.local.json',
      '.env',
      'CLAUDE.local.md',
      'packages/api/.env.test',
    ]);
    expect(lane.read('packages/api/.env.test')).toBe('B=2\n');
    expect([lane.status(), demo.status()]).toEqual(['', before]);
  });

  it('follow .worktreeinclude by the rules of .gitignore', async () => {
    using demo = TestRepository.with({
      '.gitignore': IGNORE,
      '.worktreeinclude':
        '# what agents need\nsecrets/*\n!secrets/not-this\n/node_modules/.bin/\n*.local\r\n',
    });
    const lane = demo.worktree('lane');
    demo.write({
      'secrets/key ü\n': 'k',
      'secrets/not-this': 'n',
      'node_modules/.bin/tool': { text: '#!/bin/sh\n', executable: true },
      'node_modules/lib/index.js': 'x',
      'deep/down/my.local': 'l',
    });
    expect(await copied(demo, lane)).toEqual([
      'deep/down/my.local',
      'node_modules/.bin/tool',
      'secrets/key ü\n',
    ]);
    expect(lane.status()).toBe('');
  });

  it('are what the configuration names, when it does', async () => {
    using demo = TestRepository.with({ '.gitignore': IGNORE });
    const lane = demo.worktree('lane');
    demo.write({ '.env': 'A', 'secrets/key': 'k' });
    expect(await copied(demo, lane, ['secrets/'])).toEqual(['secrets/key']);
    expect(await copied(demo, lane, [])).toEqual([]);
  });

  it('never put a file where the work would commit it', async () => {
    using demo = TestRepository.with({ a: 'a' });
    const lane = demo.worktree('lane');
    demo.write({ '.env': 'SECRET=1\n' });
    expect(await copied(demo, lane)).toEqual([]);
    demo.commit({ '.gitignore': '.env\n', '.env': null });
    demo.write({ '.env': 'SECRET=1\n' });
    expect(await copied(demo, lane)).toEqual([]);
    expect(lane.status()).toBe('');
  });

  it('overwrite nothing, tracked or not', async () => {
    using demo = TestRepository.with({ '.gitignore': IGNORE, '.env.example': 'tracked\n' });
    const lane = demo.worktree('lane');
    demo.write({ '.env': 'main\n', '.env.example': 'changed\n' });
    lane.write({ '.env': 'lane\n' });
    expect(await copied(demo, lane)).toEqual([]);
    expect([lane.read('.env'), lane.read('.env.example')]).toEqual(['lane\n', 'tracked\n']);
  });

  it('follow no link out of a folder', async () => {
    using demo = TestRepository.with({ '.gitignore': `${IGNORE}links/\n`, out: { link: '../outside' } });
    mkdirSync(join(demo.root, 'outside'));
    const lane = demo.worktree('lane');
    demo.write({ 'links/in': { link: '../.env' }, 'links/out': { link: '../../outside' }, '.env': 'A\n' });
    symlinkSync('/etc/hostname', join(demo.folder, 'links/absolute'));
    demo.git('rm', '-q', '--cached', 'out');
    demo.write({ 'out/x.local': 'x' });
    expect(await copied(demo, lane, ['links/', '.env', '*.local'])).toEqual(['.env', 'links/in']);
    expect(lane.read('links/in')).toBe('A\n');
  });

  it('take names that are no UTF-8', async () => {
    using demo = TestRepository.with({ '.gitignore': '.env*\n' });
    const lane = demo.worktree('lane');
    writeFileSync(Buffer.concat([Buffer.from(`${demo.folder}/.env`), Buffer.of(0xff)]), 'odd');
    expect(await copied(demo, lane)).toEqual(['.env\udcff']);
  });

  it.each([
    ['.env*', 'node_modules', false],
    ['node_modules', 'packages/a/node_modules', true],
    ['/node_modules/', 'node_modules', true],
    ['/node_modules/', 'a/node_modules', false],
    ['.claude/settings.local.json', '.claude', true],
    ['build/config/*.json', 'build', true],
    ['build/config/*.json', 'dist', false],
    ['**/keys', 'any/where', true],
    ['# node_modules', 'node_modules', false],
    ['', 'node_modules', false],
    ['!secrets/x', 'secrets', true],
    ['[', 'x', true],
    [`${'*a'.repeat(9)}*b`, 'a'.repeat(100), false],
  ])('look for %j in the folder %s: %s', (pattern, folder, expected) => {
    expect(mayReach(pattern, folder)).toBe(expected);
  });
});

describe('uncommitted changes of the main checkout', () => {
  it('come along as uncommitted ones and stay where they are', async () => {
    using demo = TestRepository.with({
      a: '1\n',
      gone: 'x\n',
      staged: '1\n',
      exe: 'e\n',
      '.gitignore': 'out/\n',
      'bin.dat': Buffer.from([0, 1, 2, 255]),
    });
    const lane = demo.worktree('lane');
    demo.config('diff.noprefix', 'true').config('diff.external', 'false').config('color.ui', 'always');
    demo.write({ staged: '2\n' }).git('add', 'staged');
    demo.write({
      a: '2\n',
      gone: null,
      exe: { text: 'e\n', executable: true },
      'bin.dat': Buffer.from([255, 0, 9]),
      'new/ü\nx': 'n\n',
      link: { link: '/etc/hostname' },
      'out/ignored': 'i',
    });
    const [status, index] = [demo.status(), demo.git('ls-files', '--stage')];
    expect(await bringChanges(await demo.open(), lane.folder)).toEqual([
      'a',
      'bin.dat',
      'exe',
      'gone',
      'link',
      'new/ü\nx',
      'staged',
    ]);
    expect([demo.status(), demo.git('ls-files', '--stage')]).toEqual([status, index]);
    expect(lane.git('diff', '--cached', '--name-only')).toBe('');
    for (const path of ['a', 'bin.dat', 'exe', 'new/ü\nx', 'staged', 'link', 'gone', 'out/ignored']) {
      expect(lane.read(path), path).toBe(path.startsWith('out/') ? undefined : demo.read(path));
    }
    expect(lane.git('status', '--porcelain')).toBe(
      ' M a\n M bin.dat\n M exe\n D gone\n M staged\n?? link\n?? new/',
    );
  });

  it('fit a base that moved elsewhere, and are refused where it moved in the same lines', async () => {
    using demo = TestRepository.with({ a: '1\n2\n3\n', b: '1\n' });
    demo.commitOn('ahead', { b: '2\n' });
    const lane = demo.worktree('lane', 'lane', 'ahead');
    demo.write({ a: '1\n2\n4\n' });
    expect(await bringChanges(await demo.open(), lane.folder)).toEqual(['a']);
    expect([lane.read('a'), lane.read('b')]).toEqual(['1\n2\n4\n', '2\n']);

    const other = demo.worktree('other', 'other', 'ahead');
    demo.write({ b: '3\n' });
    await expect(bringChanges(await demo.open(), other.folder)).rejects.toMatchObject({
      code: 'worktree.failed',
    });
  });

  it('are refused where a new file is in the way, and in the middle of a merge', async () => {
    using demo = TestRepository.with({ a: '1\n' });
    demo.commitOn('ahead', { n: 'theirs\n' });
    const lane = demo.worktree('lane', 'lane', 'ahead');
    demo.write({ n: 'mine\n' });
    await expect(bringChanges(await demo.open(), lane.folder)).rejects.toMatchObject({
      code: 'worktree.failed',
      data: { detail: 'n' },
    });
    expect(lane.read('n')).toBe('theirs\n');
    demo.write({ n: null });
    demo.git('merge', '--quiet', '--no-commit', '--no-ff', 'ahead');
    await expect(bringChanges(await demo.open(), lane.folder)).rejects.toMatchObject({
      code: 'worktree.failed',
      hint: expect.stringContaining('Finish it'),
    });
  });

  it('keep line endings under autocrlf', async () => {
    using demo = TestRepository.with({ a: '1\n2\n' });
    demo.config('core.autocrlf', 'true');
    const lane = demo.worktree('lane');
    expect(lane.read('a')).toBe('1\r\n2\r\n');
    demo.write({ a: '1\r\n3\r\n' });
    await bringChanges(await demo.open(), lane.folder);
    expect(lane.read('a')).toBe('1\r\n3\r\n');
  });
});
