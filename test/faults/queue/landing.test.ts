import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { LandingStep } from '../../../sidecar/queue/context.ts';
import { bundleChild } from '../../support/child-bundle.ts';
import { LandingInvariants } from '../../support/landing-invariants.ts';
import { openQueue } from '../../support/open-queue.ts';
import { TestRepository } from '../../support/repository.ts';
import type { LandingChildOrder } from './landing-child.ts';

const WITH_FOLDER: LandingStep[] = [
  'swap-begun',
  'swap-prepared',
  'swap-folder-next',
  'swap-folder-moved',
  'swap-branch-next',
  'swap-branch-moved',
  'swap-ended',
];
const BEFORE: LandingStep[] = ['secured', 'merged', 'checked', 'intended'];
const AFTER: LandingStep[] = ['swapped', 'read-back', 'followed', 'settled'];

const SCENES = {
  'on a base that is checked out': [...BEFORE, ...WITH_FOLDER, ...AFTER],
  'on a base that is checked out nowhere': [
    ...BEFORE,
    'swap-begun',
    'swap-prepared',
    'swap-branch-moved',
    'swap-ended',
    ...AFTER,
  ],
  'on a remote': [...BEFORE, 'swapped', 'read-back', ...WITH_FOLDER, 'followed', 'settled'],
} satisfies Record<string, LandingStep[]>;
type SceneName = keyof typeof SCENES;

const DIRTY = ' M mine\n?? untracked';

interface Scene {
  demo: TestRepository;
  /** Where `main` lands: the repository itself, or its remote. */
  target: TestRepository;
  checked: string;
  invariants: LandingInvariants;
  order: Omit<LandingChildOrder, 'dieAt' | 'time' | 'how'>;
}

let program: Awaited<ReturnType<typeof bundleChild>>;
beforeAll(async () => {
  program = await bundleChild(join(import.meta.dirname, 'landing-child.ts'));
});
afterAll(() => program.remove());

/** Two sessions, one of them not committed, and a person who works in the folder that they started from. */
function scene(name: SceneName): Scene {
  const demo = TestRepository.with({ mine: '1\n', shared: 'a\nb\nc\nd\ne\n', gone: 'x\n' });
  onTestFinished(() => demo[Symbol.dispose]());
  const to = name === 'on a remote' ? 'remote' : 'local';
  const target = to === 'remote' ? demo.withRemote() : demo;
  if (name === 'on a base that is checked out nowhere') demo.branch('elsewhere');
  const home = join(demo.root, 'fairlead');
  const open = openQueue({ home, environment: demo.environment });
  for (const title of ['first', 'second']) {
    const work = demo.worktree(`work-${title}`, `fairlead/${title}`, 'main');
    const lines = title === 'first' ? '1\nb\nc\nd\ne\n' : 'a\nb\nc\nd\n2\n';
    work.write({
      shared: lines,
      [`${title}/file`]: `${title}\n`,
      ...(title === 'first' ? { gone: null } : {}),
    });
    if (title === 'second') work.commit({}, 'Work of second');
    open.addSession(demo.folder, {
      id: title,
      title,
      branch: `fairlead/${title}`,
      base: 'main',
      worktree: work.folder,
    });
  }
  open.store.close();
  demo.write({ mine: '2\n', untracked: 'u\n' });
  const checked = join(demo.root, 'checked');
  const check = `git rev-parse HEAD^{tree} >> '${checked}'`;
  const land = ['first', 'second'].map((session) => ({ session, check, to }) as const);
  const invariants = new LandingInvariants({ demo, target, home, checked });
  return { demo, target, checked, invariants, order: { home, environment: demo.environment, land } };
}

function runChild(order: LandingChildOrder): Promise<{ signal: NodeJS.Signals | null; stderr: string }> {
  const child = spawn(process.execPath, [program.file, JSON.stringify(order)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH },
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => {
    // Not `close`: gits that outlive it may hold the pipe.
    child.on('exit', (_code, signal) => resolve({ signal, stderr }));
  });
}

/** Another sidecar takes over and brings everything to its end. */
async function recover(set: Scene): Promise<void> {
  const open = openQueue(set.order);
  open.queue.tick();
  for (const request of set.order.land) {
    if (open.entries.lastOf(request.session) === undefined) {
      await open.queue.land({ ...request, withLocalCommits: false });
    }
  }
  await expect.poll(() => open.queue.isBusy, { timeout: 25_000, interval: 10 }).toBe(false);
  await open.close();
  expect(open.logged).toEqual([]);
}

/** Both have landed, once; nothing is left; the person's work is as it was, and what they do next reverts nothing. */
function expectSound(set: Scene): void {
  const { demo, target, invariants } = set;
  expect(invariants.violations()).toEqual([]);
  expect(invariants.leftBehind()).toEqual([]);
  expect(invariants.entries().map(({ session, state, tries }) => [session, state, tries])).toEqual([
    ['first', 'landed', 0],
    ['second', 'landed', 0],
  ]);
  const told = invariants.read((store) => store.all("SELECT session FROM event WHERE entry = 'landed'"));
  // A crash between the store and the telling may swallow one; none is told twice.
  expect(new Set(told.map(({ session }) => session)).size).toBe(told.length);
  const subjects = ["Merge 'second' (fairlead/second)", "Merge 'first' (fairlead/first)", 'Start'];
  expect(target.log('main')).toEqual(subjects);
  expect(target.show('main', 'shared')).toBe('1\nb\nc\nd\n2\n');
  expect(target.show('main', 'gone')).toBeUndefined();
  expect(demo.log('main')).toEqual(subjects);
  expect(demo.status()).toBe(DIRTY);
  for (const title of ['first', 'second'])
    expect(demo.at(join(demo.root, `work-${title}`)).status()).toBe('');
  const before = demo.tip();
  demo.git('commit', '--quiet', '--all', '-m', 'what the person did');
  expect(demo.git('diff', '--name-only', before, 'HEAD')).toBe('mine');
}

describe.each(Object.entries(SCENES))('a landing %s', (name, steps) => {
  it('that is not disturbed passes every step in their order', async () => {
    const set = scene(name as SceneName);
    const passed: string[] = [];
    const open = openQueue({ ...set.order, step: (step) => void passed.push(step) });
    for (const request of set.order.land) {
      await open.queue.land({ ...request, withLocalCommits: false });
      await expect.poll(() => open.queue.isBusy, { timeout: 25_000 }).toBe(false);
    }
    await open.close();
    expect(passed).toEqual([...steps, ...steps]);
    expectSound(set);
  });

  it.each(steps)('killed at "%s" is ended by the next sidecar', async (dieAt) => {
    const set = scene(name as SceneName);
    const died = await runChild({ ...set.order, dieAt, time: 1, how: 'alone' });
    expect(died).toEqual({ signal: 'SIGKILL', stderr: '' });
    expect(set.invariants.violations()).toEqual([]);
    await recover(set);
    expectSound(set);
  });
});

describe.each(['on a base that is checked out', 'on a remote'] as const)(
  'a machine that goes down %s',
  (name) => {
    it.each(['swap-prepared', 'swap-folder-moved', 'swap-branch-next'] as const)(
      'at "%s" is no harm either',
      async (dieAt) => {
        const set = scene(name);
        const died = await runChild({ ...set.order, dieAt, time: 2, how: 'with-gits' });
        expect(died).toEqual({ signal: 'SIGKILL', stderr: '' });
        await recover(set);
        expectSound(set);
      },
    );
  },
);

describe('a sidecar killed in the middle of a check', () => {
  /** The check itself ends its sidecar, the parent of its shell, and would go on for ever. */
  async function killedInCheck(): Promise<Scene> {
    const set = scene('on a base that is checked out');
    const again = join(set.demo.root, 'again');
    const check = `[ -e '${again}' ] || { touch '${again}'; kill -KILL $PPID; sleep 600; }; git rev-parse HEAD^{tree} >> '${set.checked}'`;
    set.order.land = set.order.land.map((request) => ({ ...request, check }));
    const died = await runChild({ ...set.order, dieAt: undefined, time: 1, how: 'alone' });
    expect(died.signal).toBe('SIGKILL');
    return set;
  }

  it('takes the check along, and the next one checks anew', async () => {
    const set = await killedInCheck();
    await expect.poll(() => set.invariants.processes(), { timeout: 10_000 }).toEqual([]);
    await recover(set);
    expectSound(set);
  });

  it('leaves no worktree of the check, also when it is never run again', async () => {
    const set = await killedInCheck();
    const open = openQueue(set.order);
    expect((await open.queue.remove('first')).state).toBe('cancelled');
    if (open.entries.openOf('second') !== undefined) await open.queue.remove('second');
    await open.close();
    expect(set.invariants.leftBehind()).toEqual([]);
    expect([set.demo.log('main'), set.demo.status()]).toEqual([['Start'], DIRTY]);
  });
});
