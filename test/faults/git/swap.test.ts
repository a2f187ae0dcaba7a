import { spawn } from 'node:child_process';
import { existsSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemChildren } from '../../../sidecar/git/children.ts';
import { liveGits } from '../../../sidecar/git/live-gits.ts';
import { recoverBase, swapBase } from '../../../sidecar/git/swap.ts';
import { pendingSwap, pendingSwaps, swapMarker } from '../../../sidecar/git/swap-journal.ts';
import type { SwapStep } from '../../../sidecar/git/swap-together.ts';
import { type Files, TestRepository } from '../../support/repository.ts';
import type { SwapChildOrder } from './swap-child.ts';

const STEPS: SwapStep[] = [
  'begun',
  'prepared',
  'folder-next',
  'folder-moved',
  'branch-next',
  'branch-moved',
  'ended',
];

interface Scene {
  demo: TestRepository;
  /** The checkout of `main`. */
  home: TestRepository;
  from: string;
  to: string;
}

/** `main`, checked out in the repository itself or in a linked worktree, with work of the person that is not committed. */
function scene(where: 'main checkout' | 'linked worktree'): Scene {
  const start: Files = { mine: '1\n', 'd/e': 'e\n', gone: 'x\n', '.gitattributes': '*.x filter=gate\n' };
  const next: Files = {
    'd/e': null,
    d: 'a file now\n',
    gone: null,
    link: { link: 'mine' },
    'new/é\nb': 'n\n',
  };
  for (let at = 10; at < 40; at += 1) {
    if (at % 3 > 0) start[`f${at}.x`] = `${at} old\n`;
    next[`f${at}.x`] = at % 3 === 1 ? null : `${at} new and longer than before\n`;
  }
  const demo = TestRepository.with(start);
  onTestFinished(() => demo[Symbol.dispose]());
  const from = demo.tip();
  const to = demo.commitOn('next', next);
  let home = demo;
  if (where === 'linked worktree') {
    demo.switch('next');
    demo.git('worktree', 'add', '--quiet', join(demo.root, 'home of main'), 'main');
    home = demo.at(join(demo.root, 'home of main'));
  }
  home.write({ mine: '2\n', untracked: 'u\n' });
  return { demo, home, from, to };
}

const DIRTY = ' M mine\n?? untracked';

async function runChild(
  { demo, from, to }: Scene,
  dieAt: SwapStep | undefined,
  how: SwapChildOrder['how'] = 'alone',
): Promise<{ signal: NodeJS.Signals | null; stderr: string; pid: number | undefined }> {
  const { child, ended } = startChild({ demo, from, to, dieAt, how });
  return { ...(await ended), pid: child.pid };
}

function startChild(scene: Pick<Scene, 'demo' | 'from' | 'to'> & Pick<SwapChildOrder, 'dieAt' | 'how'>) {
  const { demo, from, to, dieAt, how } = scene;
  const order: SwapChildOrder = {
    folder: demo.folder,
    environment: demo.environment,
    branch: 'main',
    from,
    to,
    dieAt,
    how,
  };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'swap-child.ts'), JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH },
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<{ signal: NodeJS.Signals | null; stderr: string }>((resolve) => {
    // Not `close`: gits that outlive it may hold the pipes.
    child.on('exit', (_code, signal) => resolve({ signal, stderr }));
  });
  return { child, ended };
}

async function survivors({ home, from, to }: Scene): Promise<number[]> {
  const marker = `FAIRLEAD_SWAP=main:${from}:${to}`;
  const live = await liveGits(home.folder, marker, {
    children: systemChildren,
    environment: home.environment,
  });
  return live.own;
}

/** What must hold after recovery, whether the branch moved or not. */
async function expectSound(scene: Scene, moved: boolean): Promise<void> {
  const { demo, home, from, to } = scene;
  const repository = await demo.open();
  expect(home.tip()).toBe(moved ? to : from);
  expect(home.git('symbolic-ref', 'HEAD')).toBe('refs/heads/main');
  expect(home.status()).toBe(DIRTY);
  expect(demo.leftovers()).toEqual([]);
  expect(pendingSwaps(repository)).toEqual([]);
  expect(await survivors(scene)).toEqual([]);
  expect(await recoverBase(repository, 'main')).toBeUndefined();
  demo.git('fsck', '--no-dangling', '--no-progress');

  if (!moved) {
    const again = await swapBase(repository, { branch: 'main', from, to, message: 'land again' });
    expect(again).toEqual({ kind: 'moved', folder: home.folder });
    expect(home.status()).toBe(DIRTY);
  }
  home.git('commit', '--quiet', '--all', '-m', 'what the person did');
  expect(home.git('diff', '--name-only', to, 'HEAD')).toBe('mine');
  expect(home.status()).toBe('?? untracked');
}

describe.each(['main checkout', 'linked worktree'] as const)('a swap in the %s', (where) => {
  it('that is not disturbed moves branch and folder', async () => {
    const set = scene(where);
    expect((await runChild(set, undefined)).signal).toBeNull();
    await expectSound(set, true);
  });

  for (const how of ['alone', 'with-gits'] as const) {
    it.each(STEPS)(`killed (${how}) at "%s" is ended by recovery`, async (step) => {
      const set = scene(where);
      expect(await runChild(set, step, how)).toMatchObject({ signal: 'SIGKILL', stderr: '' });
      const moved = STEPS.indexOf(step) >= STEPS.indexOf('branch-moved');
      if (!moved) expect(set.demo.tip('main')).toBe(set.from);
      const outcome = await recoverBase(await set.demo.open(), 'main');
      const expected = {
        begun: { kind: 'not-moved' },
        prepared: { kind: 'not-moved' },
        'folder-next': { kind: 'not-moved' },
        'folder-moved': { kind: 'moved' },
        'branch-next': { kind: 'moved' },
        'branch-moved': { kind: 'moved' },
        ended: undefined,
      }[step];
      expect(outcome).toEqual(expected);
      await expectSound(set, expected?.kind !== 'not-moved');
    });
  }
});

describe('what the person does between the crash and the recovery', () => {
  async function cutOff(): Promise<Scene> {
    const set = scene('main checkout');
    await runChild(set, 'folder-moved', 'with-gits');
    // What a person would do who finds the locks of a dead git.
    for (const lock of set.demo.leftovers().filter((path) => path.endsWith('.lock'))) {
      rmSync(join(set.demo.folder, '.git', lock));
    }
    return set;
  }

  it('a commit of what they found stays, and is not reverted', async () => {
    const set = await cutOff();
    set.home.git('commit', '--quiet', '--all', '-m', 'whatever this is');
    const theirs = set.home.tip();
    expect(await recoverBase(await set.demo.open(), 'main')).toEqual({ kind: 'base-moved', now: theirs });
    expect([set.home.tip(), set.home.status()]).toEqual([theirs, '?? untracked']);
    expect(set.home.git('diff', '--name-only', set.to, 'HEAD')).toBe('mine');
    expect(set.demo.leftovers()).toEqual([]);
  });

  it('a reset to where they were is respected', async () => {
    const set = await cutOff();
    set.home.git('reset', '--quiet', '--hard');
    expect(await recoverBase(await set.demo.open(), 'main')).toEqual({ kind: 'not-moved' });
    expect([set.home.tip(), set.home.status()]).toEqual([set.from, '?? untracked']);
    expect(set.demo.leftovers()).toEqual([]);
  });

  it('edits on top of what they found are kept', async () => {
    const set = await cutOff();
    set.home.write({ 'f12.x': 'edited\n' });
    expect(await recoverBase(await set.demo.open(), 'main')).toEqual({ kind: 'moved' });
    expect([set.home.tip(), set.home.status()]).toEqual([set.to, ' M f12.x\n M mine\n?? untracked']);
    expect(set.home.read('f12.x')).toBe('edited\n');
  });

  it('a branch that went elsewhere takes the folder along when nothing else happened there', async () => {
    const set = await cutOff();
    set.home.git('stash', 'list');
    set.home.write({ mine: '1\n' });
    const elsewhere = set.demo.git('commit-tree', '-p', set.from, '-m', 'elsewhere', `${set.from}^{tree}`);
    set.demo.git('update-ref', 'refs/heads/main', elsewhere);
    expect(await recoverBase(await set.demo.open(), 'main')).toEqual({ kind: 'base-moved', now: elsewhere });
    expect([set.home.tip(), set.home.status()]).toEqual([elsewhere, '?? untracked']);
  });

  it('another branch in the folder stops it, and it waits with its reason', async () => {
    const set = await cutOff();
    set.home.git('switch', '--quiet', '-c', 'elsewhere');
    const repository = await set.demo.open();
    expect(await recoverBase(repository, 'main')).toMatchObject({
      kind: 'blocked',
      text: expect.stringContaining('is not on main any more'),
    });
    expect(pendingSwap(repository, 'main')).toBeDefined();
    expect(
      await swapBase(repository, { branch: 'main', from: set.from, to: set.to, message: 'm' }),
    ).toMatchObject({
      kind: 'folder-refuses',
    });
    set.home.switch('main');
    expect(await recoverBase(repository, 'main')).toEqual({ kind: 'moved' });
    await expectSound(set, true);
  });
});

describe('a crash while git writes the files', () => {
  /** Starts a swap whose git stops at one file; resolves when it has got there. */
  async function stopInside(): Promise<
    Scene & { release: () => void; kill: (signal: NodeJS.Signals) => Promise<void> }
  > {
    const set = scene('main checkout');
    const armed = join(set.demo.root, 'armed');
    const reached = join(set.demo.root, 'reached');
    writeFileSync(armed, '');
    set.demo
      .config('filter.gate.clean', 'cat')
      .config(
        'filter.gate.smudge',
        `text=$(cat); case "$text" in "24 new"*) touch '${reached}'; while [ -e '${armed}' ]; do sleep 0.02; done;; esac; echo "$text"`,
      );
    const { child, ended } = startChild({ ...set, dieAt: undefined, how: 'alone' });
    onTestFinished(() => rmSync(armed, { force: true }));
    await expect.poll(() => existsSync(reached), { timeout: 20_000 }).toBe(true);
    child.kill('SIGKILL');
    await ended;
    const kill = async (signal: NodeJS.Signals) => {
      for (const pid of await survivors(set)) {
        try {
          process.kill(pid, signal);
        } catch {
          // Ended with the one before it.
        }
      }
      await expect.poll(() => survivors(set), { timeout: 10_000 }).toEqual([]);
      rmSync(armed, { force: true });
    };
    return { ...set, release: () => rmSync(armed, { force: true }), kill };
  }

  it('waits for a git that outlived the sidecar, then goes on', async () => {
    const set = await stopInside();
    const repository = await set.demo.open();
    expect(await survivors(set)).not.toEqual([]);
    expect(await recoverBase(repository, 'main', { waitMs: 100 })).toMatchObject({ kind: 'busy' });
    expect(existsSync(join(set.demo.folder, '.git/index.lock'))).toBe(true);
    set.release();
    expect(await recoverBase(repository, 'main')).toEqual({ kind: 'moved' });
    await expectSound(set, true);
  });

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'takes over what a git ended by %s had written',
    async (signal) => {
      const set = await stopInside();
      await set.kill(signal);
      expect(set.home.read('f12.x')).toContain('new');
      expect(set.home.read('f35.x')).toBe('35 old\n');
      expect(existsSync(join(set.demo.folder, '.git/index.lock'))).toBe(signal === 'SIGKILL');
      expect(await recoverBase(await set.demo.open(), 'main')).toEqual({ kind: 'moved' });
      await expectSound(set, true);
    },
  );

  it('writes a file again that was cut off', async () => {
    const set = await stopInside();
    await set.kill('SIGKILL');
    truncateSync(join(set.home.folder, 'f12.x'), 8);
    truncateSync(join(set.home.folder, 'f14.x'), 0);
    expect(await recoverBase(await set.demo.open(), 'main')).toEqual({ kind: 'moved' });
    expect(set.home.read('f12.x')).toBe('12 new and longer than before\n');
    await expectSound(set, true);
  });

  it('stops at a file that the person edited since, touches nothing of it, and goes on when that is settled', async () => {
    const set = await stopInside();
    await set.kill('SIGKILL');
    set.home.write({ 'f12.x': 'mine\n', 'f35.x': 'mine too\n' });
    const repository = await set.demo.open();
    expect(await recoverBase(repository, 'main')).toMatchObject({
      kind: 'blocked',
      paths: ['f12.x', 'f35.x'],
    });
    expect([set.home.read('f12.x'), set.home.read('f35.x'), set.home.tip()]).toEqual([
      'mine\n',
      'mine too\n',
      set.from,
    ]);
    set.home.git('checkout', '--', 'f35.x');
    rmSync(join(set.home.folder, 'f12.x'));
    expect(await recoverBase(repository, 'main')).toEqual({ kind: 'moved' });
    await expectSound(set, true);
  });
});

describe('two at once', () => {
  it('one lands, the other is told that the base moved', async () => {
    const set = scene('main checkout');
    const other = set.demo.git('commit-tree', '-p', set.from, '-m', 'other', `${set.to}^{tree}`);
    const repository = await set.demo.open();
    const outcomes = await Promise.all(
      [set.to, other].map((to) => swapBase(repository, { branch: 'main', from: set.from, to, message: 'm' })),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(['moved', 'base-moved']);
    expect([set.home.tip(), set.home.status()]).toEqual([set.to, DIRTY]);
  });

  it('a living sidecar is not cut into by another', async () => {
    const set = scene('main checkout');
    const armed = join(set.demo.root, 'armed');
    writeFileSync(armed, '');
    set.demo
      .config('filter.gate.clean', 'cat')
      .config(
        'filter.gate.smudge',
        `while [ -e '${armed}' ]; do touch '${armed}.seen'; sleep 0.02; done; cat`,
      );
    const { ended } = startChild({ ...set, dieAt: undefined, how: 'alone' });
    await expect.poll(() => existsSync(`${armed}.seen`), { timeout: 20_000 }).toBe(true);
    const repository = await set.demo.open();
    const journal = pendingSwap(repository, 'main');
    expect(journal && swapMarker(journal).value).toBe(`main:${set.from}:${set.to}`);
    const request = { branch: 'main', from: set.from, to: set.to, message: 'm' };
    expect(await swapBase(repository, request)).toMatchObject({ kind: 'infrastructure' });
    rmSync(armed);
    expect((await ended).signal).toBeNull();
    await expectSound(set, true);
  });
});

describe('a swap of a branch that is checked out nowhere', () => {
  function alone(): Scene {
    const demo = TestRepository.with({ f: '1\n' });
    onTestFinished(() => demo[Symbol.dispose]());
    const from = demo.tip();
    const to = demo.commitOn('next', { f: '2\n' });
    demo.switch('next');
    return { demo, home: demo, from, to };
  }
  const lockOf = ({ demo }: Scene) => join(demo.folder, '.git', 'refs', 'heads', 'main.lock');

  it.each([
    ['begun', false],
    ['prepared', false],
    ['branch-moved', true],
    ['ended', true],
  ] as const)(
    'cut off at %s by a machine that goes down leaves nothing after recovery',
    async (dieAt, moved) => {
      const set = alone();
      expect((await runChild(set, dieAt, 'with-gits')).signal).toBe('SIGKILL');
      expect(existsSync(lockOf(set))).toBe(dieAt === 'prepared');
      const repository = await set.demo.open();
      const recovered = await recoverBase(repository, 'main');
      expect(recovered?.kind).toBe(dieAt === 'ended' ? undefined : moved ? 'moved' : 'not-moved');
      expect(set.demo.leftovers()).toEqual([]);
      expect(pendingSwaps(repository)).toEqual([]);
      expect(set.demo.git('rev-parse', 'main')).toBe(moved ? set.to : set.from);
      if (moved) return;
      const again = await swapBase(repository, {
        branch: 'main',
        from: set.from,
        to: set.to,
        message: 'land',
      });
      expect(again).toEqual({ kind: 'moved', folder: undefined });
    },
  );

  it('leaves a lock that is not its own, whether it was cut off or not', async () => {
    const set = alone();
    writeFileSync(lockOf(set), `${set.from}\n`);
    const repository = await set.demo.open();
    const request = { branch: 'main', from: set.from, to: set.to, message: 'land' };
    expect(await swapBase(repository, request)).toMatchObject({ kind: 'infrastructure' });
    await runChild(set, 'begun', 'with-gits');
    expect(pendingSwap(repository, 'main')).toMatchObject({ alone: true });
    expect(await recoverBase(repository, 'main')).toEqual({ kind: 'not-moved' });
    expect(existsSync(lockOf(set))).toBe(true);
    expect(pendingSwaps(repository)).toEqual([]);
  });

  it('leaves nothing of a bare repository whose HEAD names the branch', async () => {
    const { demo, from, to } = alone();
    const bare = join(demo.root, 'bare.git');
    demo.git('clone', '--quiet', '--bare', demo.folder, bare);
    demo.git('--git-dir', bare, 'symbolic-ref', 'HEAD', 'refs/heads/main');
    demo.git('--git-dir', bare, 'worktree', 'add', '--quiet', join(demo.root, 'linked'), 'next');
    const linked = demo.at(join(demo.root, 'linked'));
    await runChild({ demo: linked, home: linked, from, to }, 'prepared', 'with-gits');
    expect(existsSync(join(bare, 'refs', 'heads', 'main.lock'))).toBe(true);
    expect(await recoverBase(await linked.open(), 'main')).toEqual({ kind: 'not-moved' });
    for (const lock of ['HEAD.lock', 'refs/heads/main.lock'])
      expect(existsSync(join(bare, lock))).toBe(false);
  });
});
