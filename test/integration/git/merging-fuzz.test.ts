import { describe, expect, it } from 'vitest';
import { readIdentity } from '../../../sidecar/git/identity.ts';
import { Merger } from '../../../sidecar/git/merging.ts';
import { rebase } from '../../../sidecar/git/rebasing.ts';
import { type Files, TestRepository } from '../../support/repository.ts';

/** A small generator (mulberry32), so that a failing case can be run again by its seed. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const FOLDERS = ['', 'a/', 'a/b/', 'ü x/', '-d/'];

function startFiles(pick: (below: number) => number): Files {
  const files: Files = { '.gitattributes': '*.log merge=union\n', 'a/.gitattributes': '*.txt text eol=lf\n' };
  for (let at = 0; at < 6; at += 1) {
    const name = `${FOLDERS[pick(FOLDERS.length)]}f${at}.${pick(3) === 0 ? 'log' : 'txt'}`;
    files[name] = Array.from({ length: 12 }, (_, line) => `${name} line ${line}\n`).join('');
  }
  return files;
}

/** One to three changes of a kind that agents make: edits, renames, deletions, modes, new files, whole folders. */
function change(demo: TestRepository, pick: (below: number) => number, label: string): void {
  for (let times = 1 + pick(3); times > 0; times -= 1) {
    const paths = demo
      .git('ls-files', '-z')
      .split('\0')
      .filter((path) => /f\d/.test(path));
    const path = paths[pick(Math.max(paths.length, 1))];
    if (path === undefined) continue;
    const lines = (demo.read(path) ?? '').split('\n');
    switch (pick(7)) {
      case 0:
      case 1:
        lines[pick(lines.length)] = `${label} ${pick(4)}`;
        demo.write({ [path]: lines.join('\n') });
        break;
      case 2:
        lines.splice(pick(lines.length), pick(3), `${label} inserted ${pick(4)}`);
        demo.write({ [path]: lines.join('\n') });
        break;
      case 3:
        demo.write({ [path]: null });
        break;
      case 4: {
        const to = `${FOLDERS[pick(FOLDERS.length)]}moved-f${pick(9)}.txt`;
        if (demo.read(to) === undefined) demo.write({ [to]: demo.read(path) ?? '', [path]: null });
        break;
      }
      case 5:
        demo.write({ [path]: { text: demo.read(path) ?? '', executable: true } });
        break;
      default:
        demo.write({ [`${FOLDERS[pick(FOLDERS.length)]}new-f${pick(4)}.txt`]: `${label}\n` });
    }
    demo.git('add', '--all');
  }
}

function history(seed: number): TestRepository {
  const pick = random(seed);
  const demo = TestRepository.with(startFiles(pick));
  for (const branch of ['side', 'main']) {
    if (branch === 'side') demo.branch('side');
    else demo.switch('main');
    for (let commits = 1 + pick(3); commits > 0; commits -= 1) {
      change(demo, pick, `${branch}${pick(5) === 0 ? '' : commits}`);
      demo.git('commit', '--quiet', '--allow-empty', '-m', `${branch} ${commits}`);
    }
  }
  return demo;
}

const CASES = Number(process.env.FAIRLEAD_MERGE_CASES ?? 25);

describe('against real git', () => {
  it(`merges the same in ${CASES} random histories`, async () => {
    const seen = { clean: 0, conflict: 0 };
    for (let seed = 1; seed <= CASES; seed += 1) {
      using demo = history(seed);
      const repository = await demo.open();
      const sides = { ours: demo.tip('main'), theirs: demo.tip('side') };
      const outcome = await new Merger(repository).merge(sides);
      const real = demo.tryGit(
        '-c',
        'merge.conflictStyle=zdiff3',
        'merge',
        '--no-commit',
        '--no-ff',
        sides.theirs,
      );
      if (real.exitCode === 0) {
        expect(outcome, `seed ${seed}`).toEqual({ kind: 'clean', tree: demo.git('write-tree') });
        seen.clean += 1;
      } else {
        const paths = [
          ...new Set(
            demo
              .git('ls-files', '-u', '-z')
              .split('\0')
              .filter((entry) => entry !== '')
              .map((entry) => entry.slice(entry.indexOf('\t') + 1)),
          ),
        ].sort();
        expect(outcome, `seed ${seed}`).toMatchObject({ kind: 'conflict', paths });
        seen.conflict += 1;
      }
    }
    expect(seen.clean).toBeGreaterThan(CASES / 10);
    expect(seen.conflict).toBeGreaterThan(CASES / 10);
  }, 240_000);

  it(`rebases the same in ${CASES} random histories`, async () => {
    const seen = { clean: 0, stopped: 0 };
    for (let seed = 1001; seed <= 1000 + CASES; seed += 1) {
      using demo = history(seed);
      const repository = await demo.open();
      const identity = await readIdentity(repository.git);
      const [onto, tip] = [demo.tip('main'), demo.tip('side')];
      const outcome = await rebase(new Merger(repository), {
        onto,
        tip,
        identity,
        at: 1_700_000_000_000,
        sign: false,
      });
      demo.git('switch', '--quiet', '--detach', tip);
      const real = demo.tryGit('rebase', onto);
      if (real.exitCode === 0) {
        if (outcome.kind !== 'rebased') throw new Error(`seed ${seed}: ${JSON.stringify(outcome)}`);
        expect(demo.tree(outcome.commit), `seed ${seed}`).toBe(demo.tree('HEAD'));
        const story = (name: string) =>
          demo.git('log', '--format=%an %ae %ad %s %T', '--date=raw', `${onto}..${name}`);
        expect(story(outcome.commit), `seed ${seed}`).toBe(story('HEAD'));
        seen.clean += 1;
      } else {
        if (outcome.kind !== 'stopped') throw new Error(`seed ${seed}: ${JSON.stringify(outcome)}`);
        expect(outcome.at.id, `seed ${seed}`).toBe(demo.tip('REBASE_HEAD'));
        expect(outcome.outcome.kind).toBe('conflict');
        seen.stopped += 1;
      }
    }
    expect(seen.clean).toBeGreaterThan(CASES / 10);
    expect(seen.stopped).toBeGreaterThan(CASES / 10);
  }, 240_000);
});
