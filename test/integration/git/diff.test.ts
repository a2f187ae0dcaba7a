import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { changedFiles, changedFilesOnDisk, patchBetween, patchOnDisk } from '../../../sidecar/git/diff.ts';
import { TestRepository } from '../../support/repository.ts';

const LONG = Array.from({ length: 20 }, (_, line) => `line ${line}\n`).join('');

function brief(changes: Awaited<ReturnType<typeof changedFiles>>) {
  return changes.map(({ path, oldPath, status, added, deleted }) =>
    [status, oldPath === undefined ? path : `${oldPath} → ${path}`, added, deleted].join(' '),
  );
}

describe('comparing two commits', () => {
  it('lists files with their lines: new, changed, gone, renamed, binary', async () => {
    using demo = TestRepository.with({ a: '1\n2\n', gone: 'x\n', old: LONG, bin: Buffer.from([0, 1]) });
    const from = demo.tip();
    const to = demo.commit({
      a: '1\n3\n4\n',
      gone: null,
      old: null,
      'new\tname': `${LONG}more\n`,
      bin: Buffer.from([0, 2]),
      'sub/ü\nx': 'n\n',
    });
    const changes = await changedFiles(demo.fairleadGit(), from, to);
    expect(brief(changes)).toEqual([
      'modified a 2 1',
      'modified bin  ',
      'deleted gone 0 1',
      'renamed old → new\tname 1 0',
      'added sub/ü\nx 1 0',
    ]);
    expect(changes[0]).toMatchObject({
      oldMode: '100644',
      newMode: '100644',
      oldId: demo.git('rev-parse', `${from}:a`),
      newId: demo.git('rev-parse', `${to}:a`),
    });
    expect(changes[4]).toMatchObject({ oldId: undefined, oldMode: '000000' });
  });

  it('takes paths by name, and leaves some out', async () => {
    using demo = TestRepository.with({ a: '1\n' });
    const from = demo.tip();
    const to = demo.commit({ a: '2\n', '*': 's\n', 'd/x': 'x\n', '.fairlead/cost/s.toml': 'c\n' });
    const git = demo.fairleadGit();
    expect(brief(await changedFiles(git, from, to, { paths: ['*', 'd'] }))).toEqual([
      'added * 1 0',
      'added d/x 1 0',
    ]);
    expect(brief(await changedFiles(git, from, to, { without: ['.fairlead/cost'] }))).toEqual([
      'added * 1 0',
      'modified a 1 1',
      'added d/x 1 0',
    ]);
  });

  it('gives a patch that applies, whatever the person has set for their diffs', async () => {
    using demo = TestRepository.with({
      a: '1\n',
      bin: Buffer.from([0, 1]),
      '.gitattributes': '*.t diff=up\n',
      'x.t': 'x\n',
    });
    const from = demo.tip();
    const to = demo.commit({ a: '2\n', bin: Buffer.from([9, 0]), 'x.t': 'y\n' });
    demo.config('diff.noprefix', 'true').config('color.ui', 'always').config('diff.external', 'false');
    demo.config('diff.up.textconv', 'tr a-z A-Z <');
    const patch = await patchBetween(demo.fairleadGit(), from, to);
    const lane = demo.worktree('lane', 'lane', from);
    lane.gitWith({ input: patch }, 'apply', '--index');
    expect(lane.git('write-tree')).toBe(demo.tree(to));
  });
});

describe('comparing with what is on disk', () => {
  it('counts staged, unstaged and untracked files, but not ignored ones, and changes nothing', async () => {
    using demo = TestRepository.with({
      a: '1\n',
      staged: '1\n',
      gone: 'g\n',
      old: LONG,
      '.gitignore': 'out/\n',
    });
    const from = demo.tip();
    const lane = demo.worktree('lane');
    lane.commit({ committed: 'c\n' });
    lane.write({ staged: '2\n' }).git('add', 'staged');
    lane.write({
      a: '2\n',
      gone: null,
      old: null,
      moved: LONG,
      'new/:(x)': 'n\nm\n',
      'out/x': 'x',
      bin: Buffer.from([0]),
    });
    mkdirSync(join(lane.folder, 'inner'));
    lane.at(join(lane.folder, 'inner')).git('init', '--quiet');
    lane.at(join(lane.folder, 'inner')).commit({ i: 'i' });
    // What announces an untracked file refers to the empty object.
    demo.gitWith({}, 'hash-object', '-w', '--stdin');
    const before = [lane.git('ls-files', '--stage'), lane.status(), demo.objects()];
    expect(brief(await changedFilesOnDisk(lane.fairleadGit(), from))).toEqual([
      'modified a 1 1',
      'added bin  ',
      'added committed 1 0',
      'deleted gone 0 1',
      'renamed old → moved 0 0',
      'added new/:(x) 2 0',
      'modified staged 1 1',
    ]);
    expect([lane.git('ls-files', '--stage'), lane.status(), demo.objects()]).toEqual(before);
  });

  it('sees an edit of the same size in the same moment', async () => {
    using demo = TestRepository.with({ a: '0\n' });
    for (let round = 1; round < 6; round += 1) {
      const from = demo.commit({ a: `${round - 1}\n` });
      demo.write({ a: `${round}\n` });
      expect(brief(await changedFilesOnDisk(demo.fairleadGit(), from))).toEqual(['modified a 1 1']);
    }
  });

  it('gives a patch of everything, also from a folder below', async () => {
    using demo = TestRepository.with({ a: '1\n', 'd/b': '1\n' });
    demo.write({ a: '2\n', 'd/new': 'n\n' });
    const patch = await patchOnDisk(demo.at(join(demo.folder, 'd')).fairleadGit(), 'HEAD');
    const lane = demo.worktree('lane');
    lane.gitWith({ input: patch }, 'apply');
    expect([lane.read('a'), lane.read('d/new')]).toEqual(['2\n', 'n\n']);
  });

  it('is empty for files that only were touched', async () => {
    using demo = TestRepository.with({ a: '1\n' });
    demo.write({ a: '2\n' }).write({ a: '1\n' });
    expect(await changedFilesOnDisk(demo.fairleadGit(), 'HEAD')).toEqual([]);
    expect(await patchOnDisk(demo.fairleadGit(), 'HEAD')).toHaveLength(0);
  });
});
