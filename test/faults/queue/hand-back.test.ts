import { spawn } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bundleChild } from '../../support/child-bundle.ts';
import { LandingInvariants } from '../../support/landing-invariants.ts';
import { type OpenQueue, openQueue, type QueueStep } from '../../support/open-queue.ts';
import { TestRepository } from '../../support/repository.ts';
import { ScriptedAuthor } from '../../support/scripted-author.ts';
import type { HandBackChildOrder } from './hand-back-child.ts';

const SHARED = {
  start: 'a\nb\nc\n',
  mine: 'a\nmine\nc\n',
  theirs: 'a\ntheirs\nc\n',
  both: 'a\nmine\ntheirs\nc\n',
};

/** Every effect of a hand-back, in their order. */
const STEPS = [
  'merged',
  'settled',
  'hand-back-begun',
  'hand-back-merged',
  'hand-back-asked',
  'prompt-stored',
  'hand-back-verified',
  'hand-back-settled',
] as const satisfies QueueStep[];

interface Scene {
  demo: TestRepository;
  work: TestRepository;
  invariants: LandingInvariants;
  order: HandBackChildOrder;
}

let program: Awaited<ReturnType<typeof bundleChild>>;
beforeAll(async () => {
  program = await bundleChild(join(import.meta.dirname, 'hand-back-child.ts'));
});
afterAll(() => program.remove());

/** A session that conflicts with its base, and a person who works in the folder that they share with it. */
function scene(): Scene {
  const demo = TestRepository.with({ shared: SHARED.start, beside: 'old\n', mine: '1\n' });
  onTestFinished(() => demo[Symbol.dispose]());
  const home = join(demo.root, 'fairlead');
  const { environment } = demo;
  const open = openQueue({ home, environment });
  const work = demo.worktree('work', 'fairlead/work', 'main');
  work.commit({ shared: SHARED.mine }, 'Mine');
  open.addSession(demo.folder, {
    id: 'work',
    title: 'work',
    branch: 'fairlead/work',
    base: 'main',
    worktree: work.folder,
  });
  open.store.close();
  demo.commit({ shared: SHARED.theirs, beside: 'new\n', fresh: 'f\n' }, 'Theirs');
  demo.write({ mine: '2\n', untracked: 'u\n' });
  const invariants = new LandingInvariants({ demo, target: demo, home, checked: join(demo.root, 'checked') });
  const order = {
    home,
    environment,
    session: 'work',
    worktree: work.folder,
    dieAt: undefined,
  };
  return { demo, work, invariants, order };
}

function runChild(order: HandBackChildOrder): Promise<{ signal: NodeJS.Signals | null; stderr: string }> {
  const child = spawn(process.execPath, [program.file, JSON.stringify(order)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH },
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => child.on('exit', (_code, signal) => resolve({ signal, stderr })));
}

async function dies(set: Scene, dieAt: QueueStep, more: Partial<HandBackChildOrder> = {}): Promise<void> {
  const died = await runChild({ ...set.order, ...more, dieAt });
  expect(died).toEqual({ signal: 'SIGKILL', stderr: '' });
  expect(set.invariants.violations()).toEqual([]);
}

/** Another sidecar takes over, with the same agent, until `isDone`. */
async function recover(
  set: Scene,
  isDone: (open: OpenQueue) => boolean = ({ queue }) => !queue.isBusy,
): Promise<OpenQueue> {
  const open = openQueue(set.order);
  const author = new ScriptedAuthor(open, set.order);
  open.queue.tick();
  const wanted = () => {
    author.act();
    return isDone(open);
  };
  await expect.poll(wanted, { timeout: 25_000, interval: 10 }).toBe(true);
  await open.close();
  return open;
}

/** It has landed once, was asked once, and nothing else is different from before. */
function expectLanded({ demo, work, invariants }: Scene): void {
  expect(invariants.violations()).toEqual([]);
  expect(invariants.leftBehind()).toEqual([]);
  expect(invariants.entries()).toMatchObject([{ state: 'landed', tries: 1, head: work.tip() }]);
  expect(demo.log('main')).toEqual(["Merge 'work' (fairlead/work)", 'Theirs', 'Start']);
  expect([demo.show('main', 'shared'), demo.show('main', 'beside'), demo.show('main', 'fresh')]).toEqual([
    SHARED.both,
    'new\n',
    'f\n',
  ]);
  expect(work.log('HEAD')).toEqual(['Merge main into fairlead/work', 'Mine', 'Start']);
  expect([work.status(), demo.status()]).toEqual(['', ' M mine\n?? untracked']);
  expect(invariants.read((store) => store.all('SELECT state FROM prompt'))).toEqual([{ state: 'confirmed' }]);
  expect(invariants.read((store) => store.all('SELECT outcome FROM turn'))).toHaveLength(2);
  expect(invariants.read((store) => store.all("SELECT 1 FROM hand_back WHERE phase <> 'closed'"))).toEqual(
    [],
  );
}

describe('a conflict that is handed back', () => {
  it('passes every step in its order when nothing disturbs it', async () => {
    const set = scene();
    const passed: string[] = [];
    const open = openQueue({ ...set.order, step: (step) => void passed.push(step) });
    const author = new ScriptedAuthor(open, set.order);
    await open.queue.land({ session: 'work', to: 'local', withLocalCommits: false });
    const ended = () => {
      author.act();
      return !open.queue.isBusy;
    };
    await expect.poll(ended, { timeout: 25_000, interval: 10 }).toBe(true);
    await open.close();
    expect(passed.filter((step) => (STEPS as readonly string[]).includes(step))).toEqual([
      ...STEPS,
      'merged',
      'settled',
    ]);
    expect(open.logged).toEqual([]);
    expectLanded(set);
  });

  it.each(STEPS)('killed at "%s" is asked once, and lands once, by the next sidecar', async (dieAt) => {
    const set = scene();
    await dies(set, dieAt);
    await recover(set);
    expectLanded(set);
  });

  it.each(STEPS)('killed at "%s" over and over is asked once, and lands once', async (dieAt) => {
    const set = scene();
    await dies(set, dieAt);
    // The next one dies at the step after, if it still comes there.
    for (const step of STEPS) await runChild({ ...set.order, dieAt: step });
    await recover(set);
    expectLanded(set);
  });

  it.each(['hand-back-begun', 'hand-back-merged'] as const)(
    'taken out at "%s" of a sidecar that dies leaves nothing behind',
    async (step) => {
      const set = scene();
      await dies(set, step, { cancelAt: step });
      await recover(set);
      expect(set.invariants.entries()).toMatchObject([
        { state: 'cancelled', message: 'Taken out of the queue.' },
      ]);
      expect(set.invariants.leftBehind()).toEqual([]);
      expect([set.work.status(), set.work.log('HEAD')]).toEqual(['', ['Mine', 'Start']]);
      expect(set.invariants.read((store) => store.all('SELECT * FROM prompt'))).toEqual([]);
    },
  );
});

describe('a merge that was cut off', () => {
  const gitFile = ({ work }: Scene, name: string) => join(work.git('rev-parse', '--absolute-git-dir'), name);

  it('before git had noted it is taken up anew', async () => {
    const set = scene();
    await dies(set, 'hand-back-begun');
    set.work.tryGit(
      '-c',
      'merge.conflictStyle=zdiff3',
      'merge',
      '--no-commit',
      '--no-ff',
      set.demo.tip('main'),
    );
    for (const name of ['MERGE_HEAD', 'MERGE_MSG', 'MERGE_MODE', 'AUTO_MERGE']) {
      const file = gitFile(set, name);
      expect(existsSync(file)).toBe(true);
      rmSync(file);
    }
    expect(set.work.status()).toContain('UU shared');
    await recover(set);
    expectLanded(set);
  });

  it('with some of its files written, and a lock that nobody holds, is taken up anew', async () => {
    const set = scene();
    await dies(set, 'hand-back-begun');
    set.work.write({ beside: 'new\n', fresh: 'f\n' });
    writeFileSync(gitFile(set, 'index.lock'), '');
    await recover(set);
    expectLanded(set);
  });

  it('beside what somebody has written since is left alone, and the person is told', async () => {
    const set = scene();
    await dies(set, 'hand-back-begun');
    set.work.write({ beside: 'new\n', shared: 'somebody else\n' });
    const told = await recover(set, ({ table }) => table.get('work').demand !== null);
    expect(told.logged).toEqual([]);
    const demand = set.invariants.read((store) => store.get("SELECT demand FROM session WHERE id = 'work'"));
    expect(demand?.demand).toContain('changes that are not committed: beside, shared');
    expect([set.work.read('shared'), set.work.read('beside')]).toEqual(['somebody else\n', 'new\n']);
  });

  it('that somebody has committed with its markers is not landed, but handed back', async () => {
    const set = scene();
    await dies(set, 'hand-back-merged');
    set.work.git('commit', '--quiet', '--all', '--no-edit');
    const open = openQueue(set.order);
    open.queue.tick();
    await expect.poll(() => open.table.openPrompts('work').length, { timeout: 25_000 }).toBe(1);
    expect(open.table.openPrompts('work')[0]?.text).toContain('Conflict markers were committed: shared.');
    await open.close();
    expect(set.demo.show('main', 'shared')).toBe(SHARED.theirs);
  });
});
